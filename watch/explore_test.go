package watch

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"watcher/state"
)

// newStage makes a folder with one prompt. follows: it continues the chat of
// another one, which was answered.
func newStage(t *testing.T, follows bool) *stage {
	folder, err := os.MkdirTemp("/dev/shm", "explore-")
	if err != nil {
		folder = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &stage{folder: folder, roots: map[root]*point{}, texts: newTexts()}
	s.cfg = Defaults()
	s.cfg.Chat, s.cfg.ID, s.cfg.Grace, s.cfg.SendGap = puppet{}, owners[0], graceTicks*tick, 0
	if err := s.cfg.check(); err != nil {
		t.Fatal(err)
	}
	for i, owner := range owners {
		d, err := state.OpenDir(folder, owner, state.WithStep(s.step))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		s.dirs[i] = d
	}
	files := map[string]string{"a.prompt": "hello"}
	if follows {
		files = map[string]string{"a.prompt": "---\nchat: intro\n---\nhello", "intro.md": "answered\n", "intro.md.url": followed + "\n"}
	}
	for name, text := range files {
		if err := os.WriteFile(folder+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func newExplorer(s *stage, sc scene) *explorer {
	s.scene = sc
	return &explorer{stage: s, found: map[world]int32{}, mems: map[memory]*memory{}, cut: map[disk][]names{}}
}

// The whole protocol, played by the very code of the agent: its decisions, its
// courier, package state and its order of writes. Explored are all
// interleavings of two programs, the site, the network and the clock, with
// kills at every change of the folder and every question to the chat, and with
// power cuts that keep any part of what was not made durable. What must hold in
// every state:
//
//   - the site took the prompt at most once;
//   - nothing is released before its marker is durable;
//   - the address of what was taken is in a marker, or a retired one, whatever
//     a power cut would leave now;
//   - an answer that is there is whole, and was given to what was taken;
//   - without any more faults there is a way to the answer, or to a reason why
//     there is none: no prompt is lost.
func TestExplore(t *testing.T) {
	scenes := []scene{
		{may: budget{kills: 2, cuts: 1}},
		{may: budget{kills: 1, cuts: 1, faults: 1, hands: 1}},
		{rivals: true},
		{may: budget{kills: 1}, fs: norExclusive},
		{follows: true, may: budget{kills: 1, cuts: 1}},
	}
	if *every {
		scenes = append(scenes, []scene{
			{may: budget{kills: 5, cuts: 3}},
			{may: budget{kills: 2, faults: 2}},
			{may: budget{kills: 1, faults: 1, days: 1}},
			{may: budget{kills: 1, cuts: 1, faults: 1}, fs: noLinks},
			{may: budget{kills: 2, cuts: 1, faults: 1}, fs: norExclusive},
			{rivals: true, fs: norExclusive},
			{rivals: true, may: budget{kills: 1}},
			{rivals: true, may: budget{cuts: 1}},
			{rivals: true, may: budget{faults: 1, hands: 1}},
			{rivals: true, may: budget{days: 1}},
			{follows: true, may: budget{kills: 2, cuts: 1}},
			{follows: true, may: budget{kills: 1, faults: 2}},
			{follows: true, may: budget{kills: 1, cuts: 1, faults: 1, hands: 1}},
			{follows: true, may: budget{kills: 1, faults: 1}, fs: norExclusive},
			{follows: true, rivals: true},
			{follows: true, rivals: true, may: budget{kills: 1}},
		}...)
	}
	synctest.Test(t, func(t *testing.T) {
		plain := newStage(t, false)
		all := 0
		for _, sc := range scenes {
			s := plain // what is known of the programs holds in every scene
			if sc.fs != "" || sc.follows {
				s = newStage(t, sc.follows)
			}
			sc.enough = 100
			x := newExplorer(s, sc)
			x.explore()
			all += len(x.worlds)
			t.Logf("%v: %d states", sc, len(x.worlds))
			for _, bad := range x.bad[:min(len(x.bad), 1)] {
				t.Errorf("%v: %d states are bad, the first one: %s\n%s", sc, len(x.bad), bad.why, x.tell(bad.at))
			}
			if stuck := x.stuck(); len(x.bad) == 0 && len(stuck) > 0 {
				t.Errorf("%v: %d states have no way out, the first one:\n%s", sc, len(stuck), x.tell(stuck[0]))
			}
		}
		if all < 50_000 {
			t.Errorf("only %d states", all)
		}
	})
}

var every = flag.Bool("every", false, "explore the model's wide bounds too")

// What each ingredient of the protocol is there for: with it left out there are
// bad states. The promise is no part of the program but what the manual says of
// the site: what it took shows within the grace time.
//
// One makes no difference: that a marker is made durable before it is believed.
// It is a second line of defence, as every attempt has a chat and a marker of
// its own and only the program that made that marker durable lets it go.
func TestIngredients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := newStage(t, false)
		for _, sc := range []scene{
			{missing: "commit first", may: budget{kills: 1}},
			{missing: "second read", may: budget{faults: 1}},
			{missing: "grace", may: budget{kills: 1}},
			{missing: "owner", rivals: true},
			{missing: "file fsync", may: budget{cuts: 1}},
			{missing: "folder fsync", may: budget{cuts: 1}},
			{missing: "link", rivals: true},
			{missing: "resync", may: budget{kills: 1, cuts: 1}},
			{missing: "one connection", may: budget{faults: 1}},
			{missing: "profile lock"},
			{missing: "browser ends", may: budget{kills: 1}},
			{missing: "limit", may: budget{faults: 1, hands: 1}},
			{missing: "promise", may: budget{kills: 1}},
			{missing: "grace", follows: true, may: budget{kills: 1}},
			{missing: "second read", follows: true, may: budget{faults: 1}},
			{missing: "commit first", follows: true, may: budget{kills: 1}},
		} {
			if !*every {
				sc.enough = 1
			}
			s := plain
			switch sc.missing {
			case "commit first", "second read", "grace", "owner", "link": // what the programs do changes
				s = newStage(t, sc.follows)
			}
			x := newExplorer(s, sc)
			x.explore()
			why := "none"
			if len(x.bad) > 0 {
				why = x.bad[0].why
			}
			t.Logf("%-14s %6d states, %5d bad: %s", sc.missing, len(x.worlds), len(x.bad), why)
			if spare := sc.missing == "resync"; spare != (len(x.bad) == 0) {
				t.Errorf("without %q: %d bad states", sc.missing, len(x.bad))
			}
		}
	})
}

func (sc scene) String() string {
	who := "one profile"
	if sc.rivals {
		who = "two profiles"
	}
	if sc.follows {
		who += ", a follower"
	}
	if sc.fs != "" {
		who += ", " + sc.fs
	}
	b := sc.may
	return fmt.Sprintf("%s, %d kills, %d power cuts, %d faults, %d days, %d hands", who, b.kills, b.cuts, b.faults, b.days, b.hands)
}
