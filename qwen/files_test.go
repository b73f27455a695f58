package qwen_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// enclosed writes files and returns their paths, and what the site must have.
func enclosed(t *testing.T, files ...string) (paths []string, want []qwentest.File) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(t.TempDir(), files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		want = append(want, qwentest.File{Name: files[i], Size: len(files[i+1]), Text: files[i+1]})
	}
	return paths, want
}

// sendFiles sends a prompt with files, and returns the address that was committed.
func (s *stage) sendFiles(t *testing.T, prompt string, paths ...string) (address, message string, err error) {
	message, err = s.client.Send(t.Context(), qwen.Outgoing{Prompt: prompt, Files: paths}, func(a, _ string) error { address = a; return nil })
	return address, message, err
}

// withStorage is a stage whose files go to another origin.
func withStorage(t *testing.T, mode string, o qwentest.Options) *stage {
	t.Helper()
	s := onLight(t, mode, o)
	storage, err := s.site.Start(modes[mode])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Close)
	o.OSS = storage.URL
	s.configure(o)
	return s
}

// TestFiles: they are at the site whole, in order, before the prompt is, whatever
// they are called and hold, the prompt's own text included.
func TestFiles(t *testing.T) {
	t.Parallel()
	change := func(f func(*qwentest.Options)) qwentest.Options {
		o := busy()
		f(&o)
		return o
	}
	for name, c := range map[string]struct {
		mode string
		o    qwentest.Options
	}{
		"slow to parse":   {"h2", change(func(o *qwentest.Options) { o.ParseTime, o.FilesMenu = 700*time.Millisecond, true })},
		"at once":         {"http", change(func(o *qwentest.Options) {})},
		"unknown markup":  {"h1", change(func(o *qwentest.Options) { o.Markup = qwentest.MarkupRenamed })},
		"June, in Russia": {"h1", change(func(o *qwentest.Options) { o.Markup, o.Language = qwentest.MarkupJun, "ru-RU" })},
	} {
		if leftOut(name, "slow to parse") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withStorage(t, c.mode, c.o)
			prompt := unique() + "Read these files, and compare the second with this very text."
			list := []string{"data, 50 %… (1).csv", "a,b\n1,2\n", "same.txt", prompt, "ąčiū naïve.md", strings.Repeat("# naïve\n", 20_000), "same.txt", "another of that name"}
			if c.o.Markup != qwentest.MarkupRenamed {
				list = append(list, "figure.PNG", "\x89PNG\r\n\x1a\n not quite")
			}
			paths, want := enclosed(t, list...)
			address, message, err := s.sendFiles(t, prompt, paths...)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.site.Files(prompt); !reflect.DeepEqual(got, want) {
				t.Errorf("the site has %d files: %.300v", len(got), got)
			}
			if got := s.answer(t, address, message); got.Text != qwentest.Answer(prompt) {
				t.Errorf("the answer is %+v", got)
			}
			if e := s.site.Find(prompt); e.Posted != 1 || e.Accepted != 1 || len(e.Elsewhere) > 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestFilesRefused: whatever goes wrong with a file, the prompt does not leave, and
// the class says whether that file is at fault.
func TestFilesRefused(t *testing.T) {
	t.Parallel()
	s := withStorage(t, "http", brisk)
	storage := s.site.Options().OSS
	for name, c := range map[string]struct {
		change func(*qwentest.Options)
		fault  qwentest.Fault
		want   qwen.Kind
	}{
		"it can't be parsed":   {func(o *qwentest.Options) { o.ParseFails = true }, qwentest.Fault{}, qwen.KindInvalid},
		"parsing takes long":   {func(o *qwentest.Options) { o.ParseTime = time.Hour }, qwentest.Fault{}, qwen.KindUnreachable},
		"the site refuses it":  {nil, qwentest.Fault{Kind: qwentest.Unknown, On: qwentest.OnFiles}, qwen.KindInvalid},
		"a quota":              {nil, qwentest.Fault{Kind: qwentest.Quota, On: qwentest.OnFiles}, qwen.KindQuota},
		"a check":              {nil, qwentest.Fault{Kind: qwentest.Challenge, On: qwentest.OnFiles}, qwen.KindChallenge},
		"the storage refuses":  {nil, qwentest.Fault{Kind: qwentest.Status, N: 403, On: qwentest.OnUpload}, qwen.KindUnreachable},
		"the storage is gone":  {nil, qwentest.Fault{Kind: qwentest.DropRST, On: qwentest.OnUpload}, qwen.KindUnreachable},
		"the storage hangs":    {nil, qwentest.Fault{Kind: qwentest.Hang, On: qwentest.OnUpload}, qwen.KindUnreachable},
		"the parser is down":   {nil, qwentest.Fault{Kind: qwentest.Status, N: 503, On: qwentest.OnParse}, qwen.KindUnreachable},
		"the page drops them":  {func(o *qwentest.Options) { o.FileSend = "none" }, qwentest.Fault{}, qwen.KindSiteChanged},
		"the page doubles":     {func(o *qwentest.Options) { o.FileSend = "twice" }, qwentest.Fault{}, qwen.KindSiteChanged},
		"the page adds one":    {func(o *qwentest.Options) { o.FileSend = "others" }, qwentest.Fault{}, qwen.KindSiteChanged},
		"the page renames":     {func(o *qwentest.Options) { o.FileSend = "renamed" }, qwentest.Fault{}, qwen.KindSiteChanged},
		"the page mixes them":  {func(o *qwentest.Options) { o.FileSend = "reversed" }, qwentest.Fault{}, qwen.KindSiteChanged},
		"files nobody asks of": {func(o *qwentest.Options) { o.FileSend = "others" }, qwentest.Fault{}, qwen.KindAltered},
	} {
		if leftOut(name, "it can't be parsed") {
			continue
		}
		o := brisk
		o.OSS = storage
		if c.change != nil {
			c.change(&o)
		}
		s.configure(o)
		s.site.Clear()
		if c.fault.Kind != "" {
			c.fault.Times = qwentest.Always
			s.site.Fault(c.fault)
		}
		prompt := unique() + "It must not leave, as with its files " + name + "."
		paths, _ := enclosed(t, "one.txt", "The first file.", "two.csv", "a,b\n")
		if c.want == qwen.KindAltered {
			paths = nil
		}
		_, _, err := s.sendFiles(t, prompt, paths...)
		t.Logf("%s: %v", name, err)
		if e := s.site.Find(prompt); kind(err) != c.want || fault(err).MayHaveLeft() || e.Posted != 0 || len(e.Elsewhere) > 0 || fault(err).Hint() == "" {
			t.Errorf("%s: %v (%s), want %q; %+v", name, err, kind(err), c.want, e)
		}
	}
	archive, _ := enclosed(t, "a.zip", "PK", "b.txt", "")
	for path, says := range map[string]string{archive[0]: "end in .zip", archive[1]: "is empty", filepath.Dir(archive[0]): "not a file", archive[0] + "x": "no such file"} {
		if _, _, err := s.sendFiles(t, "Nowhere.", path); kind(err) != qwen.KindInvalid || !contains(err, says) || s.site.Find("Nowhere.").Posted != 0 {
			t.Errorf("%s: %v, want it to say %q", path, err, says)
		}
	}
}

// TestFilesInFollowUp: a file in a chat that is continued.
func TestFilesInFollowUp(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	s := withStorage(t, "h2", busy())
	chat, message := s.mustSend(t, unique()+"A chat that gets a file later.")
	s.answer(t, chat, message)
	prompt := unique() + "Here is the file."
	paths, want := enclosed(t, "later.txt", "It came later.")
	var after string
	message, err := s.client.Send(t.Context(), qwen.Outgoing{Prompt: prompt, Chat: chat, Files: paths}, func(_, a string) error { after = a; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := s.site.Files(prompt); !reflect.DeepEqual(got, want) {
		t.Errorf("the site has %v", got)
	}
	if got := s.answerAfter(t, chat, message, after); got.Text != qwentest.Answer(prompt) {
		t.Errorf("the answer is %+v", got)
	}
}
