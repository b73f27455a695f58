package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// transport is one way to bring a prompt into the folder. Its script gets
//
//	$SRC   the prompt, under another name, on the same file system
//	$DIR   the folder; the prompt is $DIR/a.prompt
//	$OUT   an empty folder on the same file system, which nobody watches
//	$ELSEWHERE   a folder on another one, if there are two
//	$URL   where the prompt can be fetched, slowly
//	$SFTP  the file server of ssh; $SSH stands for ssh, without a network
type transport struct {
	name, script string
	job          string // "a" if it is empty
	// Some can only make a new file, others only change one that is there.
	fresh, over bool
}

// pause is in the middle of a slow transport: the file is open, and does not
// change for longer than the settle time.
const pause = "sleep 0.8"

var transports = []transport{
	{name: "cp", script: `cp "$SRC" "$DIR/a.prompt"`},
	{name: "cp -p", script: `cp -p "$SRC" "$DIR/a.prompt"`},
	{name: "cp --remove-destination", script: `cp --remove-destination "$SRC" "$DIR/a.prompt"`},
	{name: "install", script: `install -m 600 "$SRC" "$DIR/a.prompt"`},
	{name: "dd", script: `dd if="$SRC" of="$DIR/a.prompt" bs=1000 conv=fsync status=none`},
	{name: "mv", script: `mv -f "$SRC" "$DIR/a.prompt"`},
	{name: "mv from another file system", script: `cp "$SRC" "$ELSEWHERE/$$"; mv -f "$ELSEWHERE/$$" "$DIR/a.prompt"`},
	{name: "ln", script: `ln -f "$SRC" "$DIR/a.prompt"`},
	{name: "ln -s", script: `ln -sf "$SRC" "$DIR/a.prompt"`},
	{name: "shell >", script: `cat "$SRC" > "$DIR/a.prompt"`},
	{name: "shell >, slow", script: `{ head -c 20000 "$SRC"; ` + pause + `; tail -c +20001 "$SRC"; } > "$DIR/a.prompt"`},
	{name: "shell >>, slow", script: `{ head -c 20000 "$SRC"; ` + pause + `; tail -c +20001 "$SRC"; } >> "$DIR/a.prompt"`, fresh: true},
	{name: "tee", script: `{ head -c 9999 "$SRC"; ` + pause + `; tail -c +10000 "$SRC"; } | tee "$DIR/a.prompt" >/dev/null`},
	{name: "scp", script: `scp -q -s -D "$SFTP" "$SRC" "host:$DIR/a.prompt"`},
	{name: "scp -p, slow", script: `scp -q -p -s -l 600 -D "$SFTP" "$SRC" "host:$DIR/a.prompt"`},
	{name: "scp -O", script: `scp -q -O -S "$SSH" "$SRC" "host:$DIR/a.prompt"`},
	{name: "scp -O, slow", script: `scp -q -O -l 600 -S "$SSH" "$SRC" "host:$DIR/a.prompt"`},
	{name: "scp, then mv", script: `scp -q -s -D "$SFTP" "$SRC" "host:$DIR/.a.tmp"; mv -f "$DIR/.a.tmp" "$DIR/a.prompt"`},
	{name: "sftp put", script: `echo put "$SRC" "$DIR/a.prompt" | sftp -q -b - -D "$SFTP" >/dev/null`},
	{name: "rsync", script: `rsync "$SRC" "$DIR/a.prompt"`},
	{name: "rsync -a", script: `cp "$SRC" "$OUT/a.prompt"; rsync -a "$OUT/" "$DIR/"`},
	{name: "rsync --inplace, slow", script: `rsync --inplace --no-whole-file --bwlimit=60 "$SRC" "$DIR/a.prompt"`},
	{name: "rsync --partial, slow", script: `rsync --partial --bwlimit=60 "$SRC" "$DIR/a.prompt"`},
	{name: "rsync --partial-dir", script: `rsync --partial-dir=.rsync-partial "$SRC" "$DIR/a.prompt"`},
	{name: "rsync --delay-updates", script: `cp "$SRC" "$OUT/a.prompt"; rsync -a --delay-updates "$OUT/" "$DIR/"`},
	{name: "rsync over ssh", script: `rsync -e "$SSH" "$SRC" "host:$DIR/a.prompt"`},
	{name: "git clone", job: "clone/a", fresh: true, script: `
		git init -q "$OUT/r"; cp "$SRC" "$OUT/r/a.prompt"; cd "$OUT/r"; git add .; git commit -qm one
		git clone -q "$OUT/r" "$DIR/clone"`},
	{name: "git pull", script: `
		git init -q "$OUT/r"; cd "$OUT/r"; git commit -q --allow-empty -m none
		if [ -e "$DIR/a.prompt" ]; then cp "$DIR/a.prompt" .; git add .; git commit -qm one; rm "$DIR/a.prompt"; fi
		git clone -q "$OUT/r" "$OUT/c"; mv "$OUT/c/.git" "$DIR/"; cd "$DIR"; git checkout -qf HEAD
		cd "$OUT/r"; cp "$SRC" a.prompt; git add .; git commit -qm two; cd "$DIR"; git pull -q`},
	{name: "git checkout", script: `
		git init -q "$DIR"; cd "$DIR"; git commit -q --allow-empty -m none; git branch first
		if [ -e a.prompt ]; then git add a.prompt; git commit -qm one; fi
		git checkout -qb other; cp "$SRC" "$OUT/x"; git add -f a.prompt 2>/dev/null || true
		GIT_WORK_TREE="$OUT" sh -c 'cd "$OUT"; mv x a.prompt; git --git-dir="$DIR/.git" --work-tree="$OUT" add a.prompt
			git --git-dir="$DIR/.git" --work-tree="$OUT" commit -qm two'
		git checkout -qf first; git checkout -qf other`},
	{name: "tar", script: `cp "$SRC" "$OUT/a.prompt"; tar -C "$OUT" -cf "$OUT/x.tar" a.prompt; tar -C "$DIR" -xf "$OUT/x.tar"`},
	{name: "unzip", script: `cp "$SRC" "$OUT/a.prompt"; cd "$OUT"; zip -q x.zip a.prompt; unzip -q -o -d "$DIR" x.zip`},
	{name: "curl -o, slow", script: `curl -sS -o "$DIR/a.prompt" "$URL"`},
	{name: "vim", script: `vim -Nu NONE -es -c '%d' -c "r $SRC" -c wq "$DIR/a.prompt"`},
	{name: "vim, backupcopy=no", over: true, script: `vim -Nu NONE -es -c 'set backup backupcopy=no' -c '%s/version 1/version 2/' -c wq "$DIR/a.prompt"`},
	{name: "sed -i", over: true, script: `sed -i 's/version 1/version 2/' "$DIR/a.prompt"`},
	{name: "Emacs", script: `
		ln -s user@host.123:456 "$DIR/.#a.prompt"; cp "$SRC" "$DIR/#a.prompt#"
		if [ -e "$DIR/a.prompt" ]; then mv "$DIR/a.prompt" "$DIR/a.prompt~"; fi
		{ head -c 20000 "$SRC"; ` + pause + `; tail -c +20001 "$SRC"; } > "$DIR/a.prompt"; rm "$DIR/.#a.prompt" "$DIR/#a.prompt#"`},
	// What these do is documented; they are too large to be installed here.
	{name: "Syncthing", script: `
		f="$DIR/.syncthing.a.prompt.tmp"; head -c 20000 "$SRC" > "$f"; ` + pause + `; tail -c +20001 "$SRC" >> "$f"
		touch -r /etc/passwd "$f"; chmod 644 "$f"; mv -f "$f" "$DIR/a.prompt"`},
	{name: "Syncthing of long names", script: `
		f="$DIR/~syncthing~a.prompt"; head -c 20000 "$SRC" > "$f"; ` + pause + `; tail -c +20001 "$SRC" >> "$f"; mv -f "$f" "$DIR/a.prompt"`},
	{name: "Dropbox", script: `
		mkdir -p "$DIR/.dropbox.cache/new_files"; f="$DIR/.dropbox.cache/new_files/a.prompt"
		head -c 20000 "$SRC" > "$f"; ` + pause + `; tail -c +20001 "$SRC" >> "$f"
		if [ -e "$DIR/a.prompt" ]; then ln -f "$DIR/a.prompt" "$DIR/.dropbox.cache/a (deleted 1234).prompt"; fi
		mv -f "$f" "$DIR/a.prompt"`},
	{name: "WinSCP", script: `
		f="$DIR/a.prompt.filepart"; head -c 20000 "$SRC" > "$f"; ` + pause + `; tail -c +20001 "$SRC" >> "$f"; mv -f "$f" "$DIR/a.prompt"`},
}

// TestTransports brings prompts in by every tool, new ones and, with a hold
// that is taken away when the old text begins to go, over ones that are there.
// What is sent is the whole text, once. It measures how long after the tool's
// end that is.
func TestTransports(t *testing.T) {
	t.Parallel()
	home, elsewhere := fastDir(t), t.TempDir()
	if *every {
		home, elsewhere = elsewhere, home // a disk uses the numbers of files again
	}
	in := newIntake(t, home)
	in.start()
	w := newWorkbench(in)
	w.elsewhere = elsewhere
	var all sync.WaitGroup
	for i, tr := range transports {
		for _, over := range []bool{false, true} {
			// Each tool is tried in one of the two ways, in both with -every.
			skip := over && tr.fresh || !over && tr.over
			if either := !tr.fresh && !tr.over; skip || either && !*every && over != (i%2 == 0) {
				continue
			}
			all.Go(func() { w.bring(tr, over) })
			if *every {
				all.Wait() // one by one, so that the times can be compared
			}
		}
	}
	all.Go(w.nano)
	all.Wait()
	in.stop()
	for _, way := range []string{"new", "over"} {
		slices.Sort(w.times[way])
		t.Logf("%s: the file is closed to the prompt is there, with a settle time of %v:\n%s", way, intakeSettle, strings.Join(w.times[way], "\n"))
	}
}

// workbench runs the tools.
type workbench struct {
	*intake
	env []string
	url string
	// elsewhere is a folder on another file system than home.
	elsewhere string

	mu    sync.Mutex
	files map[string]string // what the web server has
	times map[string][]string
}

func newWorkbench(in *intake) *workbench {
	in.t.Helper()
	w := &workbench{intake: in, files: map[string]string{}, times: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(w.serve))
	in.t.Cleanup(server.Close)
	w.url = server.URL
	ssh := filepath.Join(in.home, "ssh")
	sftp := ""
	for _, path := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"} {
		if _, err := os.Stat(path); err == nil {
			sftp = path
		}
	}
	if sftp == "" {
		in.t.Fatal("there is no sftp-server: the package openssh-sftp-server has it")
	}
	// What comes after the options and the host is the command, and is run here.
	in.must(os.WriteFile(ssh, []byte("#!/bin/sh\nwhile [ \"$1\" != host ]; do shift; done\nshift\nif [ \"$1\" = -- ]; then shift; fi\nexec sh -c \"$*\"\n"), 0o755))
	w.env = []string{"HOME=" + in.home, "PATH=" + os.Getenv("PATH"), "SFTP=" + sftp, "SSH=" + ssh, "LC_ALL=C.UTF-8", "TERM=xterm",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=A Person",
		"GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=person@example.org",
		"GIT_CONFIG_KEY_2=pull.rebase", "GIT_CONFIG_VALUE_2=false"}
	return w
}

// serve sends a file with a pause in the middle.
func (w *workbench) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	content := w.files[r.URL.Path]
	w.mu.Unlock()
	fmt.Fprint(rw, content[:len(content)/2])
	rw.(http.Flusher).Flush()
	time.Sleep(2 * intakeSettle) // the server's slowness, which is what is tried
	fmt.Fprint(rw, content[len(content)/2:])
}

// bring runs a tool in a folder of its own, and waits for the answer.
func (w *workbench) bring(tr transport, over bool) {
	way := "new"
	if over {
		way = "over"
	}
	sub := strings.NewReplacer(" ", "_", "*", "").Replace(tr.name) + "," + way
	dir, out := w.path(sub), filepath.Join(w.home, "out", sub)
	job := sub + "/a"
	if tr.job != "" {
		job = sub + "/" + tr.job
	}
	text := w.text(sub, 2, 1000)
	w.mu.Lock()
	w.files["/"+sub] = text + "\n"
	w.mu.Unlock()
	for _, d := range []string{dir, out} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			w.t.Error(err)
			return
		}
	}
	src := out + ".txt"
	if err := os.WriteFile(src, []byte(text+"\n"), 0o644); err != nil {
		w.t.Error(err)
		return
	}
	var held chan struct{}
	if over {
		// The old text is never expected: it is held as long as it is there.
		old := strings.ReplaceAll(text, "version 2", "version 1")
		w.write(sub+"/a.prompt.hold", "")
		w.write(sub+"/a.prompt", old+"\n")
		// rsync takes a file of the same size and second for the same.
		if err := os.Chtimes(w.path(sub+"/a.prompt"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
			w.t.Error(err)
		}
		held = make(chan struct{})
		w.letGo(sub, old+"\n", held)
	}
	cmd := exec.Command("sh", "-ec", tr.script)
	cmd.Env = append([]string{"SRC=" + src, "DIR=" + dir, "OUT=" + out, "ELSEWHERE=" + w.elsewhere, "URL=" + w.url + "/" + sub}, w.env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	closed := time.Now()
	if held != nil {
		close(held)
	}
	if err != nil {
		w.t.Errorf("%s, %s: %v\n%s", tr.name, way, err, said.String())
		return
	}
	w.answered(job, text)
	if at := w.arrivals(text); len(at) > 0 {
		w.note(way, tr.name, at[0].Sub(closed))
	}
}

func (w *workbench) note(way, name string, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times[way] = append(w.times[way], fmt.Sprintf("%-28s %5d ms", name, took.Milliseconds()))
}

// letGo takes the hold away as soon as the old text is not there any more, so
// that nothing but the program's own care protects the new one; at the latest
// when the tool has ended.
func (w *workbench) letGo(sub, old string, ended chan struct{}) {
	go func() {
		for {
			b, err := os.ReadFile(w.path(sub + "/a.prompt"))
			if err == nil && string(b) != old {
				break
			}
			select {
			case <-ended:
			case <-time.After(time.Millisecond):
				continue
			}
			break
		}
		if err := os.Remove(w.path(sub + "/a.prompt.hold")); err != nil {
			w.t.Error(err)
		}
	}()
}
