package watch

import (
	"fmt"
	"strings"

	"watcher/state"
)

// scene is what the model explores: who is there, what may go wrong, and which
// ingredient of the protocol is left out.
type scene struct {
	follows bool   // the prompt continues a chat
	rivals  bool   // two profiles on one folder; else one, of which one program runs at a time
	fs      string // what it lacks; "" for nothing
	may     budget
	missing string // the ingredient; "" for none
	enough  int    // so many bad states end the search; 0: go through all
}

// The file systems that cannot do all.
const (
	noLinks      = "no links"
	norExclusive = "no links, no exclusive rename" // markers are written in place
)

// explorer goes through all states of a scene, breadth first, so that the way
// to a bad one is a shortest way.
type explorer struct {
	*stage
	found  map[world]int32
	worlds []world
	from   []int32 // the state before, on a shortest way
	how    []deed  // and what happened there
	back   [][]int32
	bad    []badState
	mems   map[memory]*memory
	cut    map[disk][]names
}

// deed is what leads from one state to another.
type deed struct{ who, does, to, how string }

// badState is a state that must not be.
type badState struct {
	at  int32
	why string
}

// reached takes in a state to which something leads.
func (x *explorer) reached(from int32, w world, fault bool, how deed) {
	to, known := x.found[w]
	if !known {
		to = int32(len(x.worlds))
		x.found[w] = to
		x.worlds, x.from, x.how = append(x.worlds, w), append(x.from, from), append(x.how, how)
		x.back = append(x.back, nil)
		if why := x.wrong(w); why != "" {
			x.bad = append(x.bad, badState{to, why})
		}
	}
	if !fault && from >= 0 && from != to {
		x.back[to] = append(x.back[to], from)
	}
}

// explore finds every state that can be reached.
func (x *explorer) explore() {
	w := world{left: x.may}
	w.progs = [2]process{dead, dead}
	x.reached(-1, w, false, deed{who: "the prompt is there"})
	seen := 0 // of the bad ones: nothing gets better from there
	for at := int32(0); int(at) < len(x.worlds); at++ {
		if seen < len(x.bad) && x.bad[seen].at == at {
			seen++
			continue
		}
		if x.enough > 0 && len(x.bad) >= x.enough {
			return
		}
		x.happens(at)
	}
}

// memory gives equal memories one address.
func (x *explorer) memory(m memory) *memory {
	m.expired = false
	if p := x.mems[m]; p != nil {
		return p
	}
	x.mems[m] = &m
	return &m
}

// cuts is disk.cuts, remembered.
func (x *explorer) cuts(d disk) []names {
	list, known := x.cut[d]
	if !known {
		list = d.cuts()
		x.cut[d] = list
	}
	return list
}

// wrong says what must never be in a state.
func (x *explorer) wrong(w world) string {
	if w.taken() > 1 {
		return "it was taken twice"
	}
	for n, c := range w.chats {
		if c.taken > 0 && !x.kept(w.disk, int8(n), nameMarker, nameMarkers) {
			return "an address can get lost"
		}
		if c.early {
			return "it was released before its marker was durable"
		}
	}
	if text := w.disk.now()[nameAnswer]; text != 0 {
		for n, c := range w.chats {
			if c.taken > 0 && x.texts.list[text] == answerOf(x.addressOf(int8(n))) {
				return ""
			}
		}
		return "an answer that is not whole, or nobody's"
	}
	return ""
}

// kept reports whether a chat's address is in one of some marker files, whole,
// whatever a power cut would leave.
func (x *explorer) kept(d disk, chat int8, first, count int) bool {
	for _, n := range x.cuts(d) {
		found := false
		for _, text := range n[first : first+count] {
			m := state.ParseMarker([]byte(x.texts.list[text]))
			found = found || m.Address == x.addressOf(chat) && m.After == x.after()
		}
		if !found {
			return false
		}
	}
	return true
}

// stuck are the states from which, without any more faults, no way leads to an
// answer or a reason.
func (x *explorer) stuck() (list []int32) {
	ends := make([]bool, len(x.worlds))
	var queue []int32
	for at, w := range x.worlds {
		now := w.disk.now()
		if now[nameAnswer] != 0 || now[nameError] != 0 {
			ends[at], queue = true, append(queue, int32(at))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, from := range x.back[queue[0]] {
			if !ends[from] {
				ends[from], queue = true, append(queue, from)
			}
		}
	}
	for at := range x.worlds {
		if !ends[at] {
			list = append(list, int32(at))
		}
	}
	return list
}

// tell is the shortest way to a state.
func (x *explorer) tell(at int32) string {
	if at < 0 {
		return ""
	}
	d := x.how[at]
	return x.tell(x.from[at]) + strings.TrimSpace(d.who+" "+d.does+" "+d.to+" "+d.how) + "\n  " + x.show(x.worlds[at].disk.now()) + "\n"
}

func (x *explorer) show(n names) string {
	var b strings.Builder
	for i, text := range n {
		if text != 0 {
			fmt.Fprintf(&b, "%s=%.90q ", fileNames[i], x.texts.list[text])
		}
	}
	return "[" + strings.TrimSpace(b.String()) + "]"
}
