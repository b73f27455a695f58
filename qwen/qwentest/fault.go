package qwentest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind names a fault.
type Kind string

// Faults of the transport. RST is a reset, FIN an orderly end, hang a connection
// that stays and carries nothing more, slow one that goes on Delay later. With
// h2 it is the TCP connection under it.
const (
	DropRST    Kind = "drop-rst"    // the message is accepted, then the connection is reset
	DropFIN    Kind = "drop-fin"    // accepted, then closed
	LoseRST    Kind = "lose-rst"    // the body is read, nothing is accepted, reset
	LoseFIN    Kind = "lose-fin"    // the body is read, nothing is accepted, closed
	UnreadRST  Kind = "unread-rst"  // reset before the body is read
	UnreadFIN  Kind = "unread-fin"  // closed before the body is read
	PartialRST Kind = "partial-rst" // reset after N bytes of the body (default half of it)
	PartialFIN Kind = "partial-fin" // closed after N bytes of the body
	HeadersRST Kind = "headers-rst" // accepted, the reply's headers go out, then reset
	HeadersFIN Kind = "headers-fin" // the same, closed
	Cut        Kind = "cut"         // the stream is cut after N frames (default 5); generation goes on
	CutRST     Kind = "cut-rst"     // the same with a reset
	Open       Kind = "open"        // the stream stays open after its end

	UnreadHang  Kind = "unread-hang"  // the body is never read, nothing comes
	UnreadSlow  Kind = "unread-slow"  // the body is read Delay later
	PartialHang Kind = "partial-hang" // nothing more is read after N bytes of the body
	PartialSlow Kind = "partial-slow" // the rest of the body is read Delay later
	Hang        Kind = "hang"         // nothing ever comes; with Take the message is accepted
	Slow        Kind = "slow"         // the reply comes Delay later
	HeadersHang Kind = "headers-hang" // accepted, and nothing follows the reply's headers
	HeadersSlow Kind = "headers-slow" // what follows the headers comes Delay later
	CutHang     Kind = "cut-hang"     // the stream stops after N frames and stays; generation goes on
	CutSlow     Kind = "cut-slow"     // the stream stops for Delay after N frames

	// Of h2 only; over h1 the connection is closed instead. A client may repeat
	// what the server says it did not process.
	GoAway       Kind = "goaway"        // GOAWAY: this request was not processed; with Take it is accepted
	RefuseStream Kind = "refuse-stream" // RST_STREAM: the same of this request alone
	GoAwayDone   Kind = "goaway-done"   // GOAWAY: this request is the connection's last, and is served
)

// Refusals. Nothing is accepted unless Take is set.
const (
	Status        Kind = "status"         // HTTP status N; 307 points at the same endpoint
	Quota         Kind = "quota"          // RateLimited, N hours (default 3)
	TokenQuota    Kind = "token-quota"    // "Allocated quota exceeded"
	Challenge     Kind = "challenge"      // the captcha stub, JSON
	ChallengeHTML Kind = "challenge-html" // the captcha page, HTML; as a page it reloads itself after Delay
	Busy          Kind = "busy"           // "The chat is in progress!"
	ServerBusy    Kind = "server-busy"    // internal_error, "service busy"
	Unauthorized  Kind = "unauthorized"   // data.code Unauthorized
	Internal      Kind = "internal"       // Bad_Request "Internal error"
	Garbage       Kind = "garbage"        // status 200 with a body that is not JSON
	NotFound      Kind = "not-found"      // Not_Found
)

// Faults of the generation. The message is accepted.
const (
	Inspect      Kind = "inspect"       // data_inspection_failed in the stream after N frames (default 3)
	StreamError  Kind = "stream-error"  // internal_error in the stream after N frames
	Empty        Kind = "empty"         // finished without any text
	Stuck        Kind = "stuck"         // never done; the text stops after N frames (default 3)
	Killed       Kind = "killed"        // the server gives up after N frames: "The request is ended!", half a text, done
	ThinkingOnly Kind = "thinking-only" // the end comes while thinking; done, no answer part
	Dual         Kind = "dual"          // two responses, to be compared
	Late         Kind = "late"          // the chat shows the message only after Delay
	Gone         Kind = "gone"          // the chat is deleted Delay after acceptance
	Pace         Kind = "pace"          // Delay between two frames
	Pause        Kind = "pause"         // silence of Delay between thinking and answer
	Continue     Kind = "continue"      // the answer ends by length with a Continue button
	LateText     Kind = "late-text"     // done, but a read shows the text bit by bit, for Delay
)

// Faults of reading.
const (
	WrongChat Kind = "wrong-chat" // a read of the chat gives another chat of the account
)

// Endpoints a fault can be put on.
const (
	OnSend   = "send"   // POST completions; the default
	OnNew    = "new"    // POST chats/new
	OnChat   = "chat"   // GET one chat
	OnList   = "list"   // GET the list
	OnResume = "resume" // GET completions
	OnStop   = "stop"   // POST completions/stop
	OnAuths  = "auths"  // GET /api/v1/auths/
	OnPage   = "page"   // the HTML
	OnFiles  = "files"  // POST files/getstsToken
	OnUpload = "upload" // the PUT of a file
	OnParse  = "parse"  // POST files/parse, files/parse/status
	OnOther  = "other"  // the remaining API
	OnAny    = "any"    // all of these
)

// Kinds lists every fault.
var Kinds = []Kind{
	DropRST, DropFIN, LoseRST, LoseFIN, UnreadRST, UnreadFIN, PartialRST, PartialFIN,
	HeadersRST, HeadersFIN, Cut, CutRST, Open, UnreadHang, UnreadSlow, PartialHang, PartialSlow,
	Hang, Slow, HeadersHang, HeadersSlow, CutHang, CutSlow, GoAway, RefuseStream, GoAwayDone, Status, Quota,
	TokenQuota, Challenge, ChallengeHTML, Busy, ServerBusy, Unauthorized, Internal, Garbage,
	NotFound, Inspect, StreamError, Empty, Stuck, Killed, ThinkingOnly, Dual,
	Late, Gone, Pace, Pause, Continue, LateText, WrongChat,
}

// Always as Times makes a fault stand until [Site.Clear].
const Always = -1

// Fault is one scripted misbehaviour.
type Fault struct {
	Kind   Kind
	On     string        // endpoint; default OnSend, OnChat for WrongChat
	Match  string        // only prompts (or chats with one) that contain this
	Times  int           // how many requests; 0 is one, Always every
	Skip   int           // let so many matching requests pass first
	Reused bool          // only on a connection that already served a request
	N      int           // see the kinds
	Delay  time.Duration // see the kinds
	Take   bool          // accept the message although the reply is a refusal
}

func (f Fault) on() string {
	switch {
	case f.On != "":
		return f.On
	case f.Kind == WrongChat:
		return OnChat
	}
	return OnSend
}

// early tells whether the fault strikes before the body is read, when the
// prompt cannot be known.
func (f Fault) early() bool {
	switch f.Kind {
	case UnreadRST, UnreadFIN, UnreadHang, UnreadSlow, PartialRST, PartialFIN, PartialHang, PartialSlow:
		return true
	}
	return false
}

func (f Fault) n(or int) int {
	if f.N > 0 {
		return f.N
	}
	return or
}

// Fault adds a fault to the script. Faults that match one request all apply,
// at most one of a kind.
func (s *Site) Fault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.script = append(s.script, &f)
}

// Clear ends all scripted faults, or those of the given kinds.
func (s *Site) Clear(kinds ...Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear(kinds...)
}

func (s *Site) clear(kinds ...Kind) {
	var keep []*Fault
	for _, f := range s.script {
		gone := len(kinds) == 0
		for _, k := range kinds {
			gone = gone || f.Kind == k
		}
		if !gone {
			keep = append(keep, f)
		}
	}
	s.script = keep
}

// faults are those that apply to one request.
type faults []Fault

func (fs faults) get(kinds ...Kind) (Fault, bool) {
	for _, f := range fs {
		for _, k := range kinds {
			if f.Kind == k {
				return f, true
			}
		}
	}
	return Fault{}, false
}

func (fs faults) has(kinds ...Kind) bool { _, ok := fs.get(kinds...); return ok }

func (fs faults) names() string {
	var out []string
	for _, f := range fs {
		out = append(out, string(f.Kind))
	}
	return strings.Join(out, ",")
}

// take uses up and returns the scripted faults for one request. text is what
// Match is looked for in.
func (s *Site) take(on, text string, reused, early bool) faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out faults
	for _, f := range s.script {
		where := f.on()
		if f.Times == 0 || f.early() != early || where != on && where != OnAny ||
			f.Reused && !reused || f.Match != "" && !strings.Contains(text, f.Match) || out.has(f.Kind) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		out = append(out, *f)
	}
	return out
}

// FaultJSON adds the faults of a JSON object or an array of objects. The names
// are those of [Fault], in any case; durations are text such as "1.5s".
func (s *Site) FaultJSON(raw []byte) error {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		many = []json.RawMessage{raw}
	}
	var out []Fault
	for _, one := range many {
		var f Fault
		if err := apply(&f, one); err != nil {
			return err
		}
		if !slices.Contains(Kinds, f.Kind) {
			return fmt.Errorf("add a fault: there is no kind %q", f.Kind)
		}
		out = append(out, f)
	}
	for _, f := range out {
		s.Fault(f)
	}
	return nil
}

// standing are the faults that can still strike.
func (s *Site) standing() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []map[string]any{}
	for _, f := range s.script {
		if f.Times != 0 {
			out = append(out, readable(*f))
		}
	}
	return out
}
