package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func raceName(i int) Name { return Name(fmt.Sprintf("job-%03d", i)) }

// raceMarker is one that nobody else writes, as the chat's address is.
func raceMarker(owner string, i int) Marker {
	return released(fmt.Sprintf("https://chat.example/c/%s-%d", owner, i), owner)
}

// judge checks that each name has one winner and holds the winner's marker.
func judge(t *testing.T, dir string, winners map[Name][]string) {
	t.Helper()
	for i := range raceNames {
		n := raceName(i)
		if len(winners[n]) != 1 {
			t.Errorf("%s: %d winners", n, len(winners[n]))
			continue
		}
		if got := content(t, dir, n.File(KindMarker)); got != raceMarker(winners[n][0], i).String() {
			t.Errorf("%s: won by %s, holds %q", n, winners[n][0], got)
		}
	}
	clean(t, dir)
}

// watchMarkers reads all markers again and again until stop is closed: each is
// absent or whole at every moment.
func watchMarkers(t *testing.T, dir string, stop <-chan struct{}) {
	for i := 0; ; i = (i + 1) % raceNames {
		select {
		case <-stop:
			return
		default:
		}
		b, err := os.ReadFile(filepath.Join(dir, raceName(i).File(KindMarker)))
		if err == nil && ParseMarker(b).Stage != StageReleased || err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("torn read of %s: %q, %v", raceName(i), b, err)
			return
		}
	}
}

// race runs the racers with a reader beside them.
func race(t *testing.T, dir string, racers int, run func(owner string, won func(Name))) {
	winners, mu := map[Name][]string{}, sync.Mutex{}
	var all, reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() { watchMarkers(t, dir, stop) })
	for r := range racers {
		owner := fmt.Sprintf("%08x", r+1)
		all.Go(func() {
			run(owner, func(n Name) {
				mu.Lock()
				defer mu.Unlock()
				winners[n] = append(winners[n], owner)
			})
		})
	}
	all.Wait()
	close(stop)
	reader.Wait()
	judge(t, dir, winners)
}

func TestRaceOfGoroutines(t *testing.T) {
	for _, fs := range []string{"links", "no links"} {
		t.Run(fs, func(t *testing.T) {
			const racers = 8
			dir := memDir(t)
			gates := make([]sync.WaitGroup, raceNames)
			for i := range gates {
				gates[i].Add(racers)
			}
			race(t, dir, racers, func(owner string, won func(Name)) {
				d, err := OpenDir(dir, owner, WithStep(func(step string) error { return filesystems[fs](0, step) }))
				if err != nil {
					t.Error(err)
					return
				}
				defer d.Close()
				for i := range raceNames {
					p, err := d.Prepare(raceName(i), 100)
					gates[i].Done()
					gates[i].Wait() // nobody is late: all go for the link
					if err == nil {
						err = p.Commit(raceMarker(owner, i))
					}
					if err == nil {
						won(raceName(i))
					} else if !errors.Is(err, ErrExists) {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestRaceOfProcesses(t *testing.T) {
	dir := t.TempDir()
	const racers = 4
	var ready sync.WaitGroup
	ready.Add(racers)
	race(t, dir, racers, func(owner string, won func(Name)) {
		cmd := startChild(t, "race", dir, owner)
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Error(err)
			ready.Done()
			return
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "ready" {
			t.Errorf("racer %s said %q", owner, lines.Text())
		}
		ready.Done()
		ready.Wait() // all start at once
		io.WriteString(in, "go\n")
		for lines.Scan() {
			won(Name(lines.Text()))
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("racer %s: %v", owner, err)
		}
	})
}
