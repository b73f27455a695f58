package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"watcher/state"
)

// The events of hooks, as their commands are told.
const (
	hookDone  = "done"
	hookFail  = "fail"
	hookPause = "pause"
)

// A hook is the command for one event. It is a list of words, never a shell's
// text: names of files come from whoever may write the folder.
type hook struct {
	event string
	words []string
}

// placeholder is what stands for a value in a word.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// hookValues names the values: {md} in a word, WATCHER_MD in the environment.
var hookValues = []string{"event", "job", "name", "dir", "prompt", "md", "url", "err", "address", "class", "reason", "hint"}

// shells run one of their words as a program.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox"}

// parseHook reads a command, whose words are split and quoted as in a shell;
// nothing else of a shell's is done. Its program must exist.
func parseHook(event, text string) (*hook, error) {
	bad := func(format string, args ...any) error {
		return usagef("--on-%s %q: %s", event, text, fmt.Sprintf(format, args...))
	}
	words, err := shellquote.Split(text)
	switch {
	case err != nil:
		return nil, bad("%v", err)
	case len(words) == 0:
		return nil, bad("it names no command")
	case placeholder.MatchString(words[0]):
		return nil, bad("the command itself can't come from a file's name")
	}
	for _, word := range words {
		for _, p := range placeholder.FindAllString(word, -1) {
			if !slices.Contains(hookValues, strings.Trim(p, "{}")) {
				return nil, bad("%s is none of {%s}", p, strings.Join(hookValues, "} {"))
			}
		}
	}
	if script := shellText(words); placeholder.MatchString(script) {
		return nil, bad("a file's name in a shell's text could run as a command; write \"$WATCHER_MD\" instead of {md}, and so on")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, bad("%v", err)
	}
	return &hook{event: event, words: words}, nil
}

// shellText is the word that a shell would run as a program: the one after -c.
func shellText(words []string) string {
	at := slices.IndexFunc(words, func(w string) bool { return slices.Contains(shells, filepath.Base(w)) })
	if at < 0 {
		return ""
	}
	for i := at + 1; i+1 < len(words); i++ {
		if w := words[i]; strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c") {
			return words[i+1]
		}
	}
	return ""
}

// command is the hook's call for these values, not started yet.
func (h *hook) command(values map[string]string) *exec.Cmd {
	words := make([]string, len(h.words))
	for i, word := range h.words {
		words[i] = placeholder.ReplaceAllStringFunc(word, func(p string) string { return values[strings.Trim(p, "{}")] })
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = hookEnvironment(values)
	if cmd.Dir = values["dir"]; cmd.Dir == "" {
		cmd.Dir = "/"
	}
	return cmd
}

// passed are the variables of the daemon's own environment that a hook gets.
// The rest may hold secrets: proxies with passwords, keys.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM",
	"DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}

func hookEnvironment(values map[string]string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, v)
		}
	}
	for _, name := range hookValues {
		env = append(env, hookVariable(name)+"="+values[name])
	}
	return env
}

func hookVariable(value string) string { return "WATCHER_" + strings.ToUpper(value) }

// values are what a hook is told about what is due. What the job's files say
// is read now.
func (d *dueHook) values() map[string]string {
	v := map[string]string{"event": d.Event, "dir": d.Folder, "class": d.Class, "reason": d.Reason, "hint": d.Hint}
	if d.Event != hookPause {
		job := string(d.Job)
		v["job"], v["dir"], v["name"] = job, filepath.Dir(job), filepath.Base(job)
		for name, kind := range map[string]state.Kind{"prompt": state.KindPrompt, "md": state.KindAnswer, "url": state.KindMarker, "err": state.KindError} {
			v[name] = filepath.Join(v["dir"], state.Name(v["name"]).File(kind))
		}
		if j, err := lookAt(v["prompt"], true); err == nil { // else its folder went away just now
			v["address"] = j.address
			v["class"], v["reason"], v["hint"] = j.failure.Class, j.failure.Sentence, j.failure.Command
		}
	}
	for name := range v { // which no argument and no variable can hold
		v[name] = strings.ReplaceAll(v[name], "\x00", "")
	}
	return v
}
