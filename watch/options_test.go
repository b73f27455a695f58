package watch_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

// post is what the site took of a prompt.
func (r *rig) post(prompt string) watchtest.Post {
	r.t.Helper()
	for _, p := range r.chat.Accepted() {
		if p.Prompt == prompt {
			return p
		}
	}
	r.t.Fatalf("%q was not taken\n%s", prompt, r.log)
	return watchtest.Post{}
}

func TestChoicesOfAPrompt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "---\r\nmodel: m-1\r\nthinking: off\r\nsearch: on\r\nengine: chat\r\n---\r\nline one\r\nline two\r\n")
		r.write("b.prompt", "\ufeff---\nmodel: m-2\n---\n\nplain")
		r.running()
		pass(5 * time.Minute)
		r.answered("a", "line one\nline two")
		r.answered("b", "\nplain")
		if got := r.post("line one\nline two").Out; !reflect.DeepEqual(got, watch.Outgoing{Prompt: "line one\nline two", Model: "m-1", Thinking: "off", Search: "on"}) {
			t.Errorf("%+v", got)
		}
		if got := r.post("\nplain").Out; got.Model != "m-2" {
			t.Errorf("%+v", got)
		}
	})
}

func TestPlainText(t *testing.T) {
	const text = "---\nmodel: m\ntitle: T\n---\nHello"
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", text)
		a, stop := r.start()
		pass(time.Minute)
		if f := r.failed("a", watch.ClassInvalid); !strings.Contains(f.Sentence, "line 3") || !strings.Contains(f.Sentence, "--front-matter=off") {
			t.Error(f.Sentence)
		}
		stop()
		_ = a
		r.cfg.PlainText = true
		r.write("b.prompt", "---\nchat: a\nnot-before: 2099-01-01")
		r.running()
		pass(5 * time.Minute)
		r.answered("a", text) // it can be sent now, so the failure is void
		r.answered("b", "---\nchat: a\nnot-before: 2099-01-01")
	})
}

// TestNotBefore: it waits without looking at the clock all the time, says until
// when, and takes no other prompt's turn.
func TestNotBefore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		at := time.Now().Add(90 * time.Minute).Truncate(time.Second)
		r.write("a.prompt", "---\nnot-before: "+at.Format(time.RFC3339)+"\n---\nlater")
		r.write("b.prompt", "now")
		r.cfg.Rescan = 10 * time.Hour
		r.running()
		pass(89 * time.Minute)
		r.answered("b", "now")
		if r.chat.Count("later") != 0 || r.logged("not before "+at.Local().Format(time.DateTime)) != 1 {
			t.Errorf("%s", r.log)
		}
		pass(3 * time.Minute)
		r.answered("a", "later")
		if d := r.post("later").At.Sub(at); d < 0 || d > 2*time.Second {
			t.Errorf("sent %v after its time", d)
		}
	})
}

// TestNotBeforeIsEdited: the file counts as it is now.
func TestNotBeforeIsEdited(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "---\nnot-before: 2099-01-01\n---\nhello")
		r.running()
		pass(10 * time.Minute)
		r.unsent("a")
		r.write("a.prompt", "---\nmodel: m\n---\nhello")
		pass(3 * time.Minute)
		r.answered("a", "hello")
	})
}

func TestGenerateThatHasToWait(t *testing.T) {
	for head, why := range map[string]string{
		"not-before: 2000-01-01T01:00:00Z":   "not before ",
		"engine: router":                     "the engine router",
		"chat: none":                         "waits for none: there is no such prompt",
		"attach: none.png":                   `waits for its attachment "none.png"`,
		"bytes: 100":                         "its upload is not whole: 5 bytes are there, and its front matter says 100",
		"sha256: " + strings.Repeat("0", 64): "another sha256",
	} {
		t.Run(head[:6], func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.write("a.prompt", "---\n"+head+"\n---\nhello")
				got := r.generate()[0]
				r.outcome(got, watch.InProgress, "", why)
				if wait := time.Until(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)); strings.Contains(head, "not-before") && got.Next != wait {
					t.Errorf("asks again in %v, want %v", got.Next, wait)
				}
				r.unsent("a")
				if n := r.chat.Calls("owner") + r.chat.Calls("send"); n != 0 {
					t.Errorf("%d calls of the chat", n)
				}
			})
		})
	}
}

// TestUnfinished: a front matter that breaks off is not sent as text.
func TestUnfinished(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "---\nmodel: m\nnot-bef")
		r.running()
		pass(time.Hour)
		r.unsent("a")
		r.outcome(must(r.last.Step(t.Context(), r.path("a.prompt"))), watch.InProgress, "", "no closing --- line")
		r.write("a.prompt", "---\nmodel: m\n---\n")
		pass(time.Hour)
		r.unsent("a")
		r.outcome(must(r.last.Step(t.Context(), r.path("a.prompt"))), watch.InProgress, "", "empty")
		r.write("a.prompt", "---\nmodel: m\n---\nhello")
		pass(5 * time.Minute)
		r.answered("a", "hello")
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestWholeUpload: the sum and the size are of the bytes behind the front
// matter, line ends and all.
func TestWholeUpload(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		body := "first line\r\nsecond line\r\n\r\n"
		head := fmt.Sprintf("---\r\nsha256: %x\r\nbytes: %d\r\n---\r\n", sha256.Sum256([]byte(body)), len(body))
		r.write("a.prompt", head+body[:15])
		r.running()
		pass(30 * time.Minute)
		r.unsent("a")
		r.write("a.prompt", head+body)
		pass(5 * time.Minute)
		r.answered("a", "first line\nsecond line")
	})
}

func TestExpireOfAPrompt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Stall, r.cfg.Expire = 1000*time.Hour, 10*time.Hour
		r.chat.Script(plan(watchtest.Plan{Stuck: true}))
		r.write("a.prompt", "---\nexpire: 2h\n---\nsoon")
		r.write("b.prompt", "---\nexpire: 30h\n---\nlate")
		r.write("c.prompt", "as usual")
		r.running()
		pass(1 * time.Hour)
		for _, name := range []string{"a", "b", "c"} {
			if r.has(name+".md.err") || !r.has(name+".md.url") {
				t.Fatalf("%s\n%s", name, r.log)
			}
		}
		pass(90 * time.Minute)
		if f := r.failed("a", watch.ClassExpired); !strings.Contains(f.Sentence, "2h0m0s") {
			t.Error(f.Sentence)
		}
		pass(10 * time.Hour)
		r.failed("c", watch.ClassExpired)
		if r.has("b.md.err") {
			t.Error("b expired, too")
		}
		// It may be edited while the answer is waited for.
		r.write("b.prompt", "---\nexpire: 13h\n---\nlate")
		pass(time.Hour)
		r.failed("b", watch.ClassExpired)
	})
}

// TestEditedOptions: after the send other options are no other text; a failure
// before it is void with them.
func TestEditedOptions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(prompt string, nth int) watchtest.Plan {
			if prompt == "two" && nth == 1 {
				return watchtest.Plan{Before: fault(watch.ClassInvalid, false)}
			}
			return watchtest.Plan{Think: 30 * time.Minute}
		})
		r.write("a.prompt", "---\nmodel: m\n---\none")
		r.write("b.prompt", "---\nmodel: none-such\n---\ntwo")
		r.running()
		pass(5 * time.Minute)
		r.failed("b", watch.ClassInvalid)
		r.write("a.prompt", "---\nmodel: other\n---\none")
		r.write("b.prompt", "---\nmodel: m\n---\ntwo")
		pass(5 * time.Minute)
		if r.logged("changed after it was sent") != 0 || r.post("two").Out.Model != "m" || !r.has("b.md.err.1") {
			t.Errorf("%s", r.log)
		}
		r.write("a.prompt", "---\nmodel: other\n---\nanother text")
		pass(5 * time.Minute)
		if r.logged("d/a", "changed after it was sent") != 1 {
			t.Errorf("%s", r.log)
		}
		pass(time.Hour)
		r.answered("a", "one")
		if n := r.chat.Count("two"); n != 1 {
			t.Errorf("taken %d times", n)
		}
	})
}

// TestRefusedWithOptions: a refusal that was found out later is not void for
// the sake of the options.
func TestRefusedWithOptions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{After: fault(watch.ClassFiltered, true), Lose: true}))
		r.write("a.prompt", "---\nmodel: m\n---\none")
		r.running()
		pass(24 * time.Hour)
		r.failed("a", watch.ClassFiltered)
		if n := r.chat.Calls("send"); n != 1 {
			t.Errorf("tried %d times", n)
		}
	})
}

// TestAttachments: what is uploaded is what two looks saw, under its name.
func TestAttachments(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Scratch = r.path("../scratch")
		r.write("a.prompt", "---\nattach: [figure.png, sub/data.csv]\n---\nlook")
		r.write("sub/data.csv", "1,2\n")
		r.write("b.prompt", "meanwhile")
		r.running()
		pass(10 * time.Minute)
		r.answered("b", "meanwhile")
		if r.has("a.md.url") || r.logged(`waits for its attachment \"figure.png\", which is not there`) != 1 {
			t.Fatalf("%s", r.log)
		}
		r.write("figure.png", "")
		pass(2 * time.Minute)
		if r.logged(`\"figure.png\", which is empty so far`) != 1 {
			t.Errorf("%s", r.log)
		}
		f, err := os.OpenFile(r.path("figure.png"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("half of it")
		pass(2 * time.Minute)
		if r.has("a.md.url") {
			t.Fatal("sent with half a file")
		}
		f.WriteString(", and all of it")
		f.Close()
		pass(5 * time.Minute)
		r.answered("a", "look")
		p := r.post("look")
		if !reflect.DeepEqual(p.Files, []string{"half of it, and all of it", "1,2\n"}) ||
			!strings.HasSuffix(p.Out.Files[0], "/figure.png") || !strings.HasSuffix(p.Out.Files[1], "/data.csv") || strings.HasPrefix(p.Out.Files[0], r.dir) {
			t.Errorf("%q %q", p.Files, p.Out.Files)
		}
		if left, err := os.ReadDir(r.cfg.Scratch); err != nil || len(left) > 0 {
			t.Errorf("%v left behind, %v", left, err)
		}
	})
}

// TestAttachmentThatChanges: between the looks and the release nothing that was
// changed goes out.
func TestAttachmentThatChanges(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Takes: 20 * time.Second}))
		r.write("a.prompt", "---\nattach: data.csv\n---\nlook")
		r.write("data.csv", "old")
		r.running()
		pass(15 * time.Second) // the page has the file now
		if r.chat.Calls("send") != 1 {
			t.Fatalf("%d sends", r.chat.Calls("send"))
		}
		r.write("data.csv", "new")
		pass(5 * time.Minute)
		r.answered("a", "look")
		if p := r.post("look"); !reflect.DeepEqual(p.Files, []string{"new"}) || r.logged("what its options speak of is not as it was") != 1 {
			t.Errorf("%q\n%s", p.Files, r.log)
		}
	})
}

func TestBadAttachments(t *testing.T) {
	for path, why := range map[string]string{
		"link": "symbolic link", "up/secret": "symbolic link", "folder": "not a regular file", "big.bin": "too large",
	} {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.CheckFile = func(name string, size int64) error {
					if name == "big.bin" && size == 4 {
						return errors.New("it is too large")
					}
					return nil
				}
				r.write("../secret", "out of bounds")
				r.write("big.bin", "much")
				r.write("folder/x", "")
				if err := errors.Join(os.Symlink("../secret", r.path("link")), os.Symlink("..", r.path("up"))); err != nil {
					t.Fatal(err)
				}
				r.write("a.prompt", "---\nattach: "+path+"\n---\nlook")
				r.running()
				pass(time.Minute)
				if f := r.failed("a", watch.ClassInvalid); !strings.Contains(f.Sentence, why) {
					t.Errorf("%q", f.Sentence)
				}
				if r.chat.Calls("owner") != 0 {
					t.Error("the chat was asked")
				}
			})
		})
	}
}

// TestGenerateWithAttachments: files just written make one call longer, not two
// of it.
func TestGenerateWithAttachments(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("data.csv", "1")
		r.write("a.prompt", "---\nattach: data.csv\n---\nlook")
		began := time.Now()
		r.outcome(r.generate()[0], watch.SentNow, "", "")
		if d := time.Since(began); d < 4*time.Second || d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// TestOptionsOfManyPrompts: those that wait cost nothing while nothing happens.
func TestOptionsOfManyPrompts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for i := range 300 {
			r.follower(fmt.Sprintf("f%03d", i), "none", fmt.Sprint("text ", i))
		}
		r.write("b.prompt", "now")
		r.running()
		pass(10 * time.Minute)
		r.answered("b", "now")
		if n := r.logged("waits for none"); n != 300 {
			t.Errorf("%d wait", n)
		}
	})
}
