package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"watcher/qwen"
	"watcher/state"
	"watcher/watch"
	"watcher/watch/frontmatter"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON, watching bool
	c := &cobra.Command{
		Use:   "status DIR...",
		Short: "Say what is sent, what waits and why",
		Long: `status reads the folders' files and says where each unfinished job stands. It
starts no browser, sends nothing and changes nothing, whether or not the program
runs.

With --watch it goes on: in a terminal it shows the same in place until ctrl-C,
elsewhere it prints anew whenever something has changed.`,
		Example: "  watcher status ~/outbox\n  watcher status --watch ~/outbox\n  watcher status --json ~/outbox",
		Args:    needArgs("folder"),
		RunE: func(c *cobra.Command, dirs []string) error {
			if watching {
				return a.watchStatus(c.Context(), dirs, asJSON)
			}
			return a.status(c.Context(), dirs, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	c.Flags().BoolVarP(&watching, "watch", "w", false, "go on, and show what changes")
	return c
}

// status is what the command prints with --json. The names are stable.
type statusReport struct {
	Pause   *pauseRecord   `json:"pause,omitempty"`        // why nothing is sent now
	Router  *pauseRecord   `json:"router_pause,omitempty"` // why another engine is not asked now
	Holder  *holderInfo    `json:"holder,omitempty"`       // the program that is at work
	Login   *loginStatus   `json:"login,omitempty"`        // as a page last showed it
	Folders []folderStatus `json:"folders"`
	Jobs    []jobStatus    `json:"jobs"` // the unfinished ones, by folder and name
}

// loginStatus is the profile's note of its login.
type loginStatus struct {
	Expires time.Time `json:"expires,omitzero"` // when the site's token ends
	Seen    time.Time `json:"seen"`             // when somebody was last seen logged in
	Soon    bool      `json:"soon,omitempty"`   // it ends in a few days, or has ended
}

type folderStatus struct {
	Path   string `json:"path"`
	Done   int    `json:"done"`
	New    int    `json:"new"`
	Sent   int    `json:"sent"`
	Failed int    `json:"failed"`
	Hold   bool   `json:"hold,omitempty"`   // watcher.hold is there
	Paused string `json:"paused,omitempty"` // why this folder alone is paused: its markers vanished
	Settle string `json:"settle,omitempty"` // why its prompts have to rest for longer than --settle
	Error  string `json:"error,omitempty"`  // it can't be read
}

type jobStatus struct {
	File    string `json:"file"`
	Phase   string `json:"phase"`
	Age     int    `json:"age,omitempty"` // seconds since the file came, the prompt was sent, or the job failed
	Address string `json:"address,omitempty"`
	Class   string `json:"class,omitempty"`
	Reason  string `json:"reason"`         // where it stands, in words
	Next    string `json:"next,omitempty"` // a command that goes on, where no program does by itself
	Changed bool   `json:"changed,omitempty"`
	Engine  string `json:"engine,omitempty"` // that was asked, where it is not the chat

	Options *optionsStatus `json:"options,omitempty"` // of its front matter, as it is now
	Until   time.Time      `json:"until,omitzero"`    // when what it waits for ends by itself
}

func (a *app) status(ctx context.Context, dirs []string, asJSON bool) error {
	if err := areFolders(dirs); err != nil {
		return err
	}
	r, err := a.survey(ctx, dirs)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(a.stdout).Encode(r)
	}
	_, err = io.WriteString(a.stdout, renderStatus(r, dirs))
	return err
}

// areFolders refuses what can't be looked at.
func areFolders(dirs []string) error {
	for _, dir := range dirs {
		if err := isFolder(dir); err != nil {
			return err
		}
	}
	return nil
}

// survey looks at the profile and the folders.
func (a *app) survey(ctx context.Context, dirs []string) (statusReport, error) {
	profile, err := a.set.profileDir()
	if err != nil {
		return statusReport{}, err
	}
	r := statusReport{Folders: []folderStatus{}, Jobs: []jobStatus{}}
	if p := loadPause(profile); p.Class != "" {
		record := pauseRecord(p)
		r.Pause = &record
	}
	if p := loadPauseFile(routerPausePath(profile)); p.Class != "" {
		record := pauseRecord(p)
		r.Router = &record
	}
	r.Holder = whoHolds(ctx, profile)
	if n := qwen.ReadLoginNote(profile); !n.Seen.IsZero() {
		r.Login = &loginStatus{n.Expires, n.Seen, n.EndsSoon(time.Now())}
	}
	s := &surveyor{app: a, report: &r, owners: qwen.Owners(profile)}
	s.config = a.set.agentConfig(nil, "", zerolog.Nop())
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return statusReport{}, err
		}
		s.config.Roots = append(s.config.Roots, abs)
	}
	for _, dir := range dirs {
		s.folder(dir)
	}
	return r, nil
}

// whoHolds asks the program that uses the profile; nil when there is none.
func whoHolds(ctx context.Context, profile string) *holderInfo {
	c, err := callHolder(profile)
	if err != nil {
		return nil
	}
	defer c.close()
	if info, err := c.hello(ctx); err == nil {
		return &info
	}
	return nil
}

// surveyor goes through folders and notes what it sees.
type surveyor struct {
	*app
	report *statusReport
	owners []string
	config watch.Config
	inChat func(address string) string // which job of the folder waits for its answer there
	at     *folderStatus               // the folder that is looked at
}

func (s *surveyor) folder(path string) {
	f := folderStatus{Path: path}
	dir, err := state.OpenDir(path, "")
	var list state.Listing
	if err == nil {
		defer dir.Close()
		list, err = dir.Scan()
	}
	if err != nil {
		f.Error = err.Error()
		s.report.Folders = append(s.report.Folders, f)
		return
	}
	f.Done, f.Hold, f.Paused = list.Done, list.Hold, pausedAlone(dir)
	s.at = &f
	names := make([]state.Name, 0, len(list.Jobs))
	for name := range list.Jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	var answering map[string]state.Name // made when the first asks
	s.inChat = func(address string) string {
		if answering == nil {
			answering = watch.Answering(dir, list)
		}
		return string(answering[address])
	}
	for _, name := range names {
		switch list.Jobs[name].Phase() {
		case state.New:
			f.New++
		case state.Sent:
			f.Sent++
		case state.Failed:
			f.Failed++
		default:
			continue
		}
		s.report.Jobs = append(s.report.Jobs, s.job(dir, name, list))
	}
	s.report.Folders = append(s.report.Folders, f)
	if s.set.recursive {
		for _, sub := range list.Dirs {
			s.folder(filepath.Join(path, sub))
		}
	}
}

// pausedAlone is the first line of the notice of a folder that is paused for its
// own sake; "" for any other. Such a pause has no other record.
func pausedAlone(dir *state.Dir) string {
	text, err := dir.ReadPaused()
	head, _, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if err != nil || !slices.Contains(lines, "class: "+watch.ClassKeysGone) {
		return ""
	}
	return lines[0]
}

func (s *surveyor) job(dir *state.Dir, name state.Name, list state.Listing) jobStatus {
	files := list.Jobs[name]
	j := jobStatus{
		File:  filepath.Join(dir.Path(), name.File(state.KindPrompt)),
		Phase: strings.ToLower(files.Phase().String()),
	}
	switch files.Phase() {
	case state.New:
		s.unsent(&j, dir, name, list)
	case state.Sent:
		s.sent(&j, dir, name)
	case state.Failed:
		if m, err := dir.Believe(name); err == nil {
			j.Engine = m.Engine
		}
		failure, err := dir.ReadError(name)
		j.Class, j.Reason, j.Next, j.Address = failure.Class, failure.Sentence, failure.Command, failure.Address
		j.Age = ageOf(failure.When)
		if err != nil {
			j.Reason = err.Error()
		}
	}
	return j
}

// ageOf is the time since, in seconds; 0 for a time that is not known or yet to
// come.
func ageOf(t time.Time) int {
	if t.IsZero() {
		return 0
	}
	return max(0, int(time.Since(t).Seconds()))
}

// unsent says where a new prompt stands, and what a person could do.
func (s *surveyor) unsent(j *jobStatus, dir *state.Dir, name state.Name, list state.Listing) {
	if id, err := dir.Identify(name); err == nil {
		j.Age = ageOf(time.Unix(0, id.CtimeNs))
	}
	j.Reason = s.whyNot(j, dir, name, list)
	switch {
	case list.Jobs[name].Has(state.KindHold):
		j.Next = "watcher release " + watch.Quote(j.File)
	case list.Hold:
		j.Next = "watcher release " + watch.Quote(dir.Path())
	case j.Reason == sendable:
		j.Next = "watcher generate " + watch.Quote(j.File)
	}
}

// sendable is why a prompt waits that only waits for a program.
const sendable = "to be sent; no program is at work"

// whyNot says why a new prompt is not sent, as far as the files tell.
func (s *surveyor) whyNot(j *jobStatus, dir *state.Dir, name state.Name, list state.Listing) string {
	files := list.Jobs[name]
	pause := ""
	if p := s.report.Pause; p != nil && !s.set.fallback.takes(p.Class) {
		pause = "paused: " + p.Class
	}
	if why := state.May(files, pause, true); why != "" {
		return "waiting: " + why
	}
	if list.Hold {
		return "waiting: the folder is held by its watcher.hold"
	}
	if s.at.Paused != "" {
		return "waiting: the folder is paused (" + watch.ClassKeysGone + ")"
	}
	if s.set.ready && !files.Has(state.KindReady) {
		return "waiting: its .prompt.ready is not there"
	}
	if why := s.unreadable(j, dir, name); why != "" {
		return why
	}
	if s.report.Holder == nil {
		return sendable
	}
	return "to be sent"
}

// unreadable says why a prompt's text can't be taken now, or what its options
// make it wait for; "" when it can be sent.
func (s *surveyor) unreadable(j *jobStatus, dir *state.Dir, name state.Name) string {
	open, known, err := dir.Writers(name)
	switch {
	case err == nil && known && open:
		return "waiting: still being written"
	case err == nil && !known && s.at.Settle == "" && s.set.settle < s.config.LeaselessSettle:
		s.at.Settle = whyLonger(dir, name, s.config.LeaselessSettle)
	}
	var invalid *state.InvalidError
	p, err := watch.ReadPrompt(dir, name, s.set.plain())
	j.Options = optionsOf(p.Options)
	switch {
	case errors.Is(err, state.ErrEmpty):
		return "waiting: it is empty"
	case errors.As(err, &invalid):
		return "cannot be sent: " + invalid.Reason
	case errors.Is(err, frontmatter.ErrUnfinished):
		return "waiting: " + frontmatter.ErrUnfinished.Error()
	case err != nil:
		return "waiting: " + err.Error()
	}
	wait, until, never := s.config.Outlook(dir, name, p, func(by string) bool { return slices.Contains(s.owners, by) }, s.inChat, time.Now())
	j.Until = until
	switch {
	case never != "":
		return "cannot be sent: " + never
	case wait != "":
		return strings.Replace("waiting: "+wait, "waiting: waits for", "waits for", 1)
	}
	return ""
}

// whyLonger says why the prompts of a folder have to rest for so long: nothing
// tells whether one is still being written.
func whyLonger(dir *state.Dir, name state.Name, settle time.Duration) string {
	file := filepath.Join(dir.Path(), name.File(state.KindPrompt))
	kind, _ := fileSystem(file) // through a link
	why := fmt.Sprintf("the file system of %s (%s) does not tell who writes a file", name.File(state.KindPrompt), kind)
	info, err := os.Stat(file)
	switch {
	case isNetwork(kind):
		why = fmt.Sprintf("on a network's file system (%s) nobody sees who writes a file", kind)
	case err == nil && os.Geteuid() != 0 && owner(info) != os.Geteuid():
		why = name.File(state.KindPrompt) + " is another user's, and only its owner may ask who writes it"
	}
	return fmt.Sprintf("prompts have to rest for %v, since %s", settle, why)
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// sent says what a marker says.
func (s *surveyor) sent(j *jobStatus, dir *state.Dir, name state.Name) {
	m, err := dir.Believe(name)
	if err != nil {
		j.Reason = "waiting: its marker can't be read: " + err.Error()
		return
	}
	j.Address = m.Address
	if m.At > 0 {
		j.Age = ageOf(time.Unix(m.At, 0))
	}
	if s.report.Holder == nil {
		j.Next = "watcher generate " + watch.Quote(j.File)
	}
	j.Engine = m.Engine
	switch {
	case m.Engine != "":
		j.Reason = askedElsewhere(m, s.report.Holder != nil)
	case m.Address == "":
		j.Reason = "sent, its chat's address is unknown; the account's chats are looked through"
	case m.By != "" && !slices.Contains(s.owners, m.By):
		j.Reason = "waiting: its owner is another program or account"
	case m.Stage == state.StageReleased:
		j.Reason = "it may have been sent; its chat is read to find out"
	default:
		j.Reason = "waiting for the answer"
	}
	p, err := watch.ReadPrompt(dir, name, s.set.plain())
	j.Options = optionsOf(p.Options)
	if err == nil && p.Differs(m) {
		j.Changed = true
	} else if errors.Is(err, fs.ErrNotExist) {
		j.Reason += " (the prompt is gone)"
	}
}

// loginEnds says that a login ends soon, or has ended.
func loginEnds(expires time.Time) string {
	verb := "ends"
	if time.Now().After(expires) {
		verb = "ended"
	}
	return fmt.Sprintf("the login %s on %s: run 'watcher login'", verb, expires.Local().Format(time.DateTime))
}

// ages says what a job's age counts from.
var ages = map[string]string{"new": "came", "sent": "sent", "failed": "failed"}

// renderStatus says the same to a person: what is wrong first.
func renderStatus(r statusReport, asked []string) string {
	var b strings.Builder
	for _, f := range r.Folders {
		if f.Paused != "" {
			fmt.Fprintf(&b, "PAUSED (%s): %s: %s\n  what to do: see %s\n", watch.ClassKeysGone, f.Path, f.Paused,
				filepath.Join(f.Path, state.PausedFile))
		}
	}
	if p := r.Pause; p != nil {
		fmt.Fprintf(&b, "PAUSED (%s): %s\n", p.Class, p.Reason)
		if p.Hint != "" {
			fmt.Fprintf(&b, "  what to do: %s\n", p.Hint)
		}
		fmt.Fprintf(&b, "  next try: %s\n", p.Until.Local().Format(time.DateTime))
	}
	if p := r.Router; p != nil {
		fmt.Fprintf(&b, "other engine paused (%s): %s\n", p.Class, p.Reason)
		if p.Hint != "" {
			fmt.Fprintf(&b, "  what to do: %s\n", p.Hint)
		}
		fmt.Fprintf(&b, "  next try: %s\n", p.Until.Local().Format(time.DateTime))
	}
	if l := r.Login; l != nil && l.Soon {
		fmt.Fprintln(&b, loginEnds(l.Expires))
	}
	if h := r.Holder; h != nil {
		fmt.Fprintf(&b, "at work: watcher %s, process %d\n", h.Command, h.PID)
	} else {
		fmt.Fprintln(&b, "no program is at work on this profile")
	}
	for _, f := range r.Folders {
		if f == (folderStatus{Path: f.Path}) && !slices.Contains(asked, f.Path) {
			continue // nothing in it, and nobody asked
		}
		fmt.Fprintf(&b, "%s: %d done, %d sent, %d new, %d failed", f.Path, f.Done, f.Sent, f.New, f.Failed)
		if f.Hold {
			b.WriteString("; held by watcher.hold")
		}
		if f.Settle != "" {
			b.WriteString("; " + f.Settle)
		}
		if f.Error != "" {
			fmt.Fprintf(&b, "; cannot be read: %s", f.Error)
		}
		b.WriteByte('\n')
	}
	for _, j := range r.Jobs {
		fmt.Fprintf(&b, "  %-7s %s: %s", j.Phase, j.File, j.Reason)
		if j.Age > 0 {
			fmt.Fprintf(&b, "; %s %s ago", ages[j.Phase], seconds(time.Duration(j.Age)*time.Second))
		}
		if j.Options != nil {
			fmt.Fprintf(&b, "; options: %s", j.Options)
		}
		if j.Changed {
			b.WriteString("; changed after it was sent")
		}
		if j.Next != "" {
			fmt.Fprintf(&b, "; to go on: %s", j.Next)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
