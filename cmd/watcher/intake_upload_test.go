package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// interrupt starts an upload and kills it when a part is there.
func (w *workbench) interrupt(script, src, part string) {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", "exec "+script)
	cmd.Env = append([]string{"SRC=" + src, "DIR=" + w.dir}, w.env...)
	w.must(cmd.Start())
	w.until("a part of "+part, func() bool {
		paths, err := filepath.Glob(w.path(part))
		w.must(err)
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				return true
			}
		}
		return false
	})
	w.must(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
}

// TestInterrupted kills uploads in the middle. By the ways that the manual
// calls safe, nothing is sent before the upload was made again, whole.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, part  string
		first, then string // the upload that is killed, and the one that is not
		ready       bool
	}{
		{name: "scp and mv", part: ".a.tmp",
			first: `scp -q -s -l 400 -D "$SFTP" "$SRC" "host:$DIR/.a.tmp"`,
			then:  `scp -q -s -D "$SFTP" "$SRC" "host:$DIR/.a.tmp" && mv "$DIR/.a.tmp" "$DIR/a.prompt"`},
		{name: "rsync", part: ".a.prompt.*",
			first: `rsync --bwlimit=400 "$SRC" "$DIR/a.prompt"`,
			then:  `rsync "$SRC" "$DIR/a.prompt"`},
		{name: "scp and ready", part: "a.prompt", ready: true,
			first: `scp -q -s -l 400 -D "$SFTP" "$SRC" "host:$DIR/a.prompt"`,
			then:  `scp -q -s -D "$SFTP" "$SRC" "host:$DIR/a.prompt" && echo > "$DIR/a.prompt.ready"`},
		{name: "scp -O and ready with a sum", part: "a.prompt", ready: true,
			first: `scp -q -O -l 400 -S "$SSH" "$SRC" "host:$DIR/a.prompt"`,
			then:  `sha256sum < "$SRC" > "$DIR/a.prompt.ready"; sleep 0.8; scp -q -O -S "$SSH" "$SRC" "host:$DIR/a.prompt"`},
		{name: "rsync --partial and ready", part: ".a.prompt.*", ready: true,
			first: `rsync --partial --bwlimit=400 "$SRC" "$DIR/a.prompt"`,
			then:  `rsync --partial "$SRC" "$DIR/a.prompt" && echo > "$DIR/a.prompt.ready"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := newIntake(t, fastDir(t))
			in.start(fmt.Sprint("WATCHER_REQUIRE_READY=", c.ready))
			w := newWorkbench(in)
			text := in.text("a", 1, 30_000)
			src := filepath.Join(in.home, "a.txt")
			in.must(os.WriteFile(src, []byte(text+"\n"), 0o644))
			w.interrupt(c.first, src, c.part)
			time.Sleep(3 * intakeSettle) // what is tried: a part that nobody touches any more
			in.unsent("a")
			then := exec.Command("sh", "-ec", c.then)
			then.Env = append([]string{"SRC=" + src, "DIR=" + in.dir}, w.env...)
			if out, err := then.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			in.answered("a", text)
			in.stop()
		})
	}
}

// TestReadySums lets .ready files speak of other texts than the one that is
// there: a part, an older version, none at all.
func TestReadySums(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	in.start("WATCHER_REQUIRE_READY=true")
	whole := in.text("a", 1, 100)
	sum := func(s string) string { return fmt.Sprintf("%x  a.prompt\n", sha256.Sum256([]byte(s))) }
	in.write("a.prompt.ready", sum(whole)) // it comes first
	in.write("a.prompt", whole[:len(whole)/2])
	in.write("b.prompt", "without one")
	in.write("c.prompt", "with another's")
	in.write("c.prompt.ready", sum("older"))
	in.write("d.prompt", "with nonsense")
	in.write("d.prompt.ready", "yes\n")
	in.until("a line about a", func() bool { return in.waits("a", "sha256 of another text") })
	in.until("a line about b", func() bool { return in.waits("b", ".prompt.ready") })
	in.until("a line about c", func() bool { return in.waits("c", "sha256 of another text") })
	in.until("a line about d", func() bool { return in.waits("d", "neither empty nor a sha256") })
	in.unsent("a", "b", "c", "d")
	in.write("a.prompt", whole)
	in.write("b.prompt.ready", "")
	in.expect("b", "without one")
	in.answered("a", whole)
	in.answered("b", "without one")
	in.stop()
}
