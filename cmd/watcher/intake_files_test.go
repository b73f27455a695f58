package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/sys/unix"
)

// everyByte are two names that together hold each byte that a name may hold.
func everyByte() (names []string) {
	var all []byte
	for b := 255; b > 0; b-- { // from the end, so that neither begins with a dot
		if b != '/' {
			all = append(all, byte(b))
		}
	}
	return []string{string(all[:127]), string(all[127:])}
}

// TestNames sends prompts of every kind of name, and leaves alone what only
// looks like one.
func TestNames(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	jobs := append(everyByte(),
		strings.Repeat("n", 248), strings.Repeat("é", 124), strings.Repeat("\xff", 247), // the longest that can be
		"Plan", "plan", "PLAN", // the same on other systems
		"caf\u00e9", "cafe\u0301", // the same to a reader
		"-rf", "--help", "-", " ", "two\nlines", "tab\t", "'\"$(x)`;&|<>*?[]{}!#~\\", "\x1b[31m",
		"x", "x.md", "x.prompt", "x.md.url", "watcher", "CON", "a:b", "ends in a dot.",
	)
	texts := map[string]string{}
	for i, job := range jobs {
		texts[job] = in.expect(job, fmt.Sprintf("Text %d for %q.", i, job))
		in.write(job+".prompt", texts[job])
	}
	others := []string{"UP.PROMPT", "Up.Prompt", ".prompt", "..prompt", ".hidden.prompt", "._x.prompt", ".#x.prompt", "#x.prompt#",
		"x.prompt~", ".x.prompt.swp", "4913", "~$x.prompt", ".syncthing.x.prompt.tmp", "~syncthing~x.prompt.tmp", "x.prompt.filepart",
		".hidden/in.prompt", ".~tmp~/x.prompt", ".stversions/x.prompt"}
	conflicts := []string{"x.sync-conflict-20260101-120000-ABCDEFG.prompt", "x (1).prompt", "x (conflicted copy 2026-01-01).prompt"}
	for _, file := range append(others, conflicts...) {
		in.write(file, "not to be sent: "+file)
	}
	in.start("WATCHER_RESCAN=200ms") // many rescans, still one warning for each copy
	for _, job := range jobs {
		in.answered(job, texts[job])
	}
	for _, file := range append(others, conflicts...) {
		in.unsent(strings.TrimSuffix(file, ".prompt"))
	}
	in.stop()
	if n := strings.Count(in.out.String(), `"not considered"`); n != len(conflicts) {
		t.Errorf("%d warnings about %d second copies\n%s", n, len(conflicts), in.out)
	}
}

// utf16of is a text as PowerShell's > writes it.
func utf16of(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// TestTexts sends what is text, refuses what is not, and waits for what is not
// there yet.
func TestTexts(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	large := in.text("large", 1, 200_000)
	if len(large) < 9<<20 {
		t.Fatalf("only %d bytes", len(large))
	}
	sent := map[string][2]string{ // the file, and what of it is sent
		"little":    {utf16of(binary.LittleEndian, "Grüße, 世界 😀 (1)\r\n"), "Grüße, 世界 😀 (1)"},
		"big":       {utf16of(binary.BigEndian, "Grüße, 世界 😀 (2)\r\n"), "Grüße, 世界 😀 (2)"},
		"mark":      {"\ufeffafter a mark\n", "after a mark"},
		"lines":     {"one\r\ntwo\rthree\n\n\n", "one\ntwo\nthree"},
		"spaces":    {"  \tkept  ", "  \tkept  "},
		"odd":       {"controls \x01\x1b\x7f and \u2028\ufffd\U0010ffff", "controls \x01\x1b\x7f and \u2028\ufffd\U0010ffff"},
		"large":     {large + "\n", large},
		"readyless": {"no .ready is needed here", "no .ready is needed here"},
	}
	for job, c := range sent {
		in.expect(job, c[1])
		in.write(job+".prompt", c[0])
	}
	refused := []string{"a\x00b", "\xff", "caf\xe9", "\xed\xa0\x80", "h\x00i\x00", "\x00h\x00i", "\xff\xfeh", "\xff\xfe\x3d\xd8"}
	for i, content := range refused {
		in.write(fmt.Sprintf("bad%d.prompt", i), content)
	}
	blank := []string{"", "\n", " \t\r\n\n", "\ufeff", "\ufeff\r\n", "\xff\xfe", "\xfe\xff\x00\n"}
	for i, content := range blank {
		in.write(fmt.Sprintf("blank%d.prompt", i), content)
	}
	in.start()
	for job, c := range sent {
		in.answered(job, c[1])
	}
	for i := range refused {
		file := fmt.Sprintf("bad%d.md.err", i)
		in.until(file, func() bool { return in.has(file) })
		b, err := os.ReadFile(in.path(file))
		in.must(err)
		if in.has(fmt.Sprintf("bad%d.md.url", i)) || !bytes.Contains(b, []byte("class: invalid")) {
			t.Errorf("%s: %s", file, b)
		}
	}
	// What failed as no text is sent once it is one.
	in.write("bad0.prompt", in.expect("bad0", "text after all"))
	in.until("the .md.err is put aside", func() bool { return !in.has("bad0.md.err") })
	in.answered("bad0", "text after all")
	for i := range blank { // the content comes after the placeholder
		job := fmt.Sprintf("blank%d", i)
		in.unsent(job)
		in.write(job+".prompt", in.expect(job, fmt.Sprint("at last ", i)))
	}
	for i := range blank {
		in.answered(fmt.Sprintf("blank%d", i), fmt.Sprint("at last ", i))
	}
	in.stop()
}

// TestOddEntries puts everything into the folder that is no regular file: what
// leads to one is sent, the rest stops nothing.
func TestOddEntries(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	must := in.must
	outside := filepath.Join(in.home, "outside")
	must(os.Mkdir(outside, 0o755))
	put := func(path, job string) {
		must(os.WriteFile(path, []byte(in.expect(job, "text of "+job)), 0o644))
	}

	must(unix.Mkfifo(in.path("fifo.prompt"), 0o600))
	must(os.Mkdir(in.path("folder.prompt"), 0o755))
	put(in.path("folder.prompt/inner.prompt"), "folder.prompt/inner")
	socket, err := net.Listen("unix", in.path("socket.prompt"))
	must(err)
	defer socket.Close()
	must(os.Symlink("/dev/null", in.path("null.prompt")))
	must(os.Symlink("/dev/zero", in.path("zero.prompt")))
	must(os.Symlink("loop.prompt", in.path("loop.prompt")))
	must(os.Symlink("nowhere", in.path("dangling.prompt")))
	must(os.Symlink("/dev/null/x", in.path("notdir.prompt")))
	must(os.Symlink(strings.Repeat("n", 300), in.path("endless.prompt")))
	must(os.Symlink("..", in.path("up.prompt")))
	must(os.Symlink("..", in.path("uplink"))) // a folder that is followed would have no end
	must(os.Symlink(filepath.Join(outside, "later"), in.path("later.prompt")))
	put(filepath.Join(outside, "there"), "link")
	must(os.Symlink(filepath.Join(outside, "there"), in.path("link.prompt")))
	put(filepath.Join(outside, "hard"), "hard")
	must(os.Link(filepath.Join(outside, "hard"), in.path("hard.prompt")))
	// A ConfigMap: all is reached through one link, which is swapped.
	must(os.Mkdir(in.path("..T1"), 0o755))
	must(os.WriteFile(in.path("..T1/map.prompt"), []byte("old text of map"), 0o644))
	must(os.Symlink("..T1", in.path("..data")))
	must(os.Symlink("..data/map.prompt", in.path("map.prompt")))
	in.write("map.prompt.hold", "")

	in.start("WATCHER_RESCAN=300ms")
	in.answered("link", "text of link")
	in.answered("hard", "text of hard")
	in.answered("folder.prompt/inner", "text of folder.prompt/inner")
	put(filepath.Join(outside, "later"), "later") // no event says so
	in.answered("later", "text of later")
	must(os.Mkdir(in.path("..T2"), 0o755))
	put(in.path("..T2/map.prompt"), "map")
	must(os.Symlink("..T2", in.path("..data_tmp")))
	must(os.Rename(in.path("..data_tmp"), in.path("..data")))
	must(os.Remove(in.path("map.prompt.hold")))
	in.answered("map", "text of map")
	in.unsent("fifo", "folder", "socket", "null", "zero", "loop", "dangling", "notdir", "endless", "up")
	in.stop()
}
