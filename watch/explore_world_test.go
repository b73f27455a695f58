package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files of the model's one job, and what they hold: an index into texts,
// 0 for a file that is not there.
const (
	nameMarker  = 0            // and behind it the retired ones
	nameAnswer  = 1 + maxChats // so many markers there may be
	nameError   = nameAnswer + 1
	nameCount   = nameError + 1
	nameMarkers = nameAnswer
)

var fileNames = func() (list [nameCount]string) {
	for i := range nameMarkers {
		list[i] = fmt.Sprintf("a.md.url.%d", i)
	}
	list[nameMarker], list[nameAnswer], list[nameError] = "a.md.url", "a.md", "a.md.err"
	return list
}()

type names [nameCount]uint8

// texts numbers what files hold.
type texts struct {
	list []string
	ids  map[string]uint8
}

const textEmpty = 1 // the number of ""

func newTexts() *texts {
	return &texts{list: []string{"(none)", ""}, ids: map[string]uint8{"": textEmpty}}
}

func (x *texts) id(s string) uint8 {
	id, known := x.ids[s]
	if !known {
		if len(x.list) == 64 {
			panic("more texts than the model has room for")
		}
		id = uint8(len(x.list))
		x.list, x.ids[s] = append(x.list, s), id
	}
	return id
}

// snapshot is what the scratch folder holds.
func (s *stage) snapshot() (now names) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			os.Remove(filepath.Join(s.folder, e.Name())) // of a replay that was stopped
		}
		for i, name := range fileNames {
			if e.Name() != name {
				continue
			}
			b, err := os.ReadFile(filepath.Join(s.folder, name))
			if err != nil {
				panic(err)
			}
			now[i] = s.texts.id(string(b))
		}
	}
	return now
}

// put makes the scratch folder hold this instead of that.
func (s *stage) put(have, want names) {
	for i, name := range fileNames {
		if have[i] == want[i] {
			continue
		}
		path := filepath.Join(s.folder, name)
		os.Remove(path) // a new file, as it is for the program
		if want[i] != 0 {
			if err := os.WriteFile(path, []byte(s.texts.list[want[i]]), 0o600); err != nil {
				panic(err)
			}
		}
	}
}

// disk is the model's folder: the names that a power cut leaves, and what was
// done since, of which it leaves any part.
type disk struct {
	durable names
	changes [6]change
	n       int8
	synced  uint64 // texts whose files are synced, by number
}

// change is one operation on the folder: one name, or two that change at once.
type change struct {
	name, other   int8 // other is -1 when there is but one
	text, another uint8
}

func (c change) on(n names) names {
	n[c.name] = c.text
	if c.other >= 0 {
		n[c.other] = c.another
	}
	return n
}

// now is what programs see.
func (d disk) now() names {
	n := d.durable
	for _, c := range d.changes[:d.n] {
		n = c.on(n)
	}
	return n
}

// note takes in what a program did, between two looks at the folder.
func (d *disk) note(was, now names, synced bool) {
	c := change{name: -1, other: -1}
	for i := range now {
		if now[i] == was[i] {
			continue
		}
		if c.name < 0 {
			c.name, c.text = int8(i), now[i]
		} else {
			c.other, c.another = int8(i), now[i]
		}
		if moved := slices.Contains(was[:], now[i]); now[i] != 0 && synced && !moved {
			d.synced |= 1 << now[i]
		}
	}
	if c.name >= 0 {
		d.changes[d.n] = c
		d.n++
	}
}

// sync is the fsync of the folder.
func (d *disk) sync() {
	d.durable, d.changes, d.n = d.now(), [6]change{}, 0
}

// cuts are the folders that a power cut can leave: any part of what was done
// since the last sync of the folder, and of a file that was not synced itself
// either all or nothing.
func (d disk) cuts() (list []names) {
	seen := map[names]bool{}
	for part := range 1 << d.n {
		n := d.durable
		for i, c := range d.changes[:d.n] {
			if part&(1<<i) != 0 {
				n = c.on(n)
			}
		}
		var torn []int
		for i, text := range n {
			if text > textEmpty && d.synced&(1<<text) == 0 {
				torn = append(torn, i)
			}
		}
		for some := range 1 << len(torn) {
			cut := n
			for i, name := range torn {
				if some&(1<<i) != 0 {
					cut[name] = textEmpty
				}
			}
			if !seen[cut] {
				seen[cut] = true
				list = append(list, cut)
			}
		}
	}
	return list
}

// way is where the request that a chat was made for is.
type way int8

const (
	wayNone   way = iota // not released
	wayFlying            // released; it arrives, or it is lost
	wayHidden            // taken, and not shown yet
	waySeen              // taken, and shown
	wayLost              // it never arrives
)

// chatState is one attempt at the site.
type chatState struct {
	way      way
	taken    int8 // how often
	attached bool // the browser that it left from waits for its outcome
	age      int8 // ticks since nothing could send it any more
	early    bool // its marker was not durable when it was released
}

const maxChats = 9

func addressOf(n int8) string {
	return fmt.Sprintf("https://chat.example/c/%08d-0000-4000-8000-000000000000", n)
}

// addressOf is the chat that an attempt goes to: one of its own, or, for a
// follower, the one that every attempt continues.
func (sc scene) addressOf(n int8) string {
	if sc.follows {
		return followed
	}
	return addressOf(n)
}

// after is the message that it follows there.
func (sc scene) after() string {
	if sc.follows {
		return "answer-0"
	}
	return ""
}

// followed is the chat of the follower's parent.
const followed = "https://chat.example/c/00000099-0000-4000-8000-000000000000"

func messageOf(address string) string { return "message-" + address[23:31] }
func answerOf(address string) string  { return "the whole answer in " + address + "\n" }

func chatOf(address string) int {
	var n int
	if _, err := fmt.Sscanf(address, "https://chat.example/c/%08d", &n); err != nil {
		panic(err)
	}
	return n
}

// world is one state of the model.
type world struct {
	disk  disk
	chats [maxChats]chatState
	made  int8
	day   bool // a day has passed since the last chat was made
	progs [2]process
	left  budget
}

// process is one program: dead, between two turns, or in the middle of one.
type process struct {
	alive bool
	mem   *memory // between two turns
	at    *point  // in a turn
	ticks int8    // since the point was reached
	chat  int8    // that it made in this turn; -1 for none
}

var dead = process{chat: -1}

// budget is what may still go wrong.
type budget struct {
	kills  int8 // of a program
	cuts   int8 // of the power
	faults int8 // of a call to the disk, of the network, of the site; a program that is stopped for a while
	days   int8 // without an answer
	hands  int8 // a person takes away the marker of a program that seems to be dead
}

func (w *world) taken() (n int8) {
	for _, c := range w.chats {
		n += c.taken
	}
	return n
}
