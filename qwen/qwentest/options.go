package qwentest

import "time"

// Markup is a generation of the page's HTML.
type Markup string

// The markups the page can be served in.
const (
	MarkupAug     Markup = "aug"     // newest known; the default
	MarkupJun     Markup = "jun"     // two months older: other New Chat button and model selector
	MarkupRenamed Markup = "renamed" // class names nobody has seen; roles, labels and ids are kept
	MarkupStrange Markup = "strange" // nothing known is left: an input under [data-ask] and a send button that is a [data-go]
)

// Clock is the site's time. The default is the system's.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Options is how the site behaves until told otherwise. The zero value is the
// site as described, ten times faster than life; [Life] has the true times.
// Where the public facts are silent a field chooses the answer, and its zero
// value is the likelier one. All of it can be changed while the site runs
// ([Site.Configure], POST /_rehearsal/options); a loaded page keeps what it
// was loaded with.
//
// Durations: zero means the default given, a negative value means none.
type Options struct {
	Clock Clock `json:"-"`

	// Pace.
	ChunkDelay time.Duration // between two frames of an answer; default 5ms
	FirstByte  time.Duration // from acceptance to the first frame of text; default 5ms
	KeepAlive  time.Duration // between keep_alive frames of a silent stream; default 10s
	Ready      time.Duration // from load to the anti-bot scripts being ready; default 130ms (life: 1.3s)
	Hydration  time.Duration // text set earlier after load is thrown away; default 300ms (life: 3s)
	Background time.Duration // between two background GETs of an open page; default 1s

	// Who.
	Guest     bool   // every login is rejected: visitors get the guest page with its composer
	LoginWall bool   // visitors without a login are sent to /auth
	Auths200  bool   // /api/v1/auths/ says 401 in a body with status 200
	Language  string // of the page's labels: "en-US" (default), "zh-CN", "ru-RU"

	// Page.
	Markup              Markup
	Models              []string      // ids; default: a few of 2026; the first is the page's
	SendDuringHydration bool          // the server-rendered page already shows a (dead) send button
	ReplaceOnHydration  bool          // hydration puts a new textarea in the place of the old one
	URLBefore           bool          // the address becomes /c/<id> before the completions POST
	Edits               string        // how the page changes the text it sends: "trim", "crlf", "nbsp", "collapse"
	MaxTyped            int           // longer prompts (characters): pressing send does nothing; 0 no limit
	PageRetry           int           // the page itself repeats a send that failed on the network, so often
	DoubleSubmit        string        // one press on send submits twice: "chat" in two chats, "post" twice in one
	GuestPopup          bool          // guests are asked to log in, "Stay logged out"
	IgnoreClicks        int           // the first so many presses on send do nothing
	Autosave            bool          // drafts are posted while somebody types
	AskTitle            bool          // after an answer the page posts the prompt to get a title
	Popup               string        // "post": pressing send also opens a window that posts the same body; "ad": a window opens
	ServiceWorker       string        // "install": in control from the second load; "claim": from the first; "retry": claims, and repeats failed POSTs
	Draft               string        // restored into the composer after DraftDelay
	DraftDelay          time.Duration // from hydration; default 0
	Dialog              string        // "alert": one after load; "beforeunload": leaving asks
	StaleChat           time.Duration // an opened chat shows another chat's messages first, so long
	LateRender          time.Duration // messages appear on the page so much later
	BlockInput          time.Duration // the page hangs so long whenever the text changes
	EarlyStop           time.Duration // the stop button vanishes so long before the last text is drawn
	StopStays           bool          // the stop button never vanishes
	DrawByFrame         bool          // the page draws in animation frames only
	SlowImage           bool          // an image never arrives: the load event never fires
	Overlay             string        // "chooser": the page asks which of two old answers is better, and the composer is off; "rating": something lies over the send button
	Omits               string        // a header that the page leaves out of its sends: "source", "Version", "X-Request-Id", "Content-Type"
	Follows             string        // what the page makes of a message in an opened chat: "user" (it follows our last message: a sibling of its answer), "null" (a new root), "half" (only the body names the right place), "new" (another chat), "moves" (right, but the address changes)
	FilesMenu           bool          // the file input takes nothing before the menu of modes was opened
	FileSend            string        // what the page sends of the files: "none", "twice", "others", "renamed", "reversed", "early" (before they are there)
	NoResume            bool          // the page does not take up a stream that broke
	ForgetChoices       bool          // what was chosen shows, and the page sends its own choice
	Virtual             bool          // only the last two messages are in the document

	// Answers to what is open.
	KeepFID           bool          // the client's fid becomes the user message's id
	HistoryArray      bool          // history.messages is an array, not a map
	ErrorShape        string        // errors on the send: "json" (default), "raw" (JSON as text/event-stream), "framed" (a data: line)
	ErrorWithoutID    bool          // error frames inside a stream carry no response_id
	EndedShape        string        // "The request is ended!": "data" (default) or "error"
	NotDoneStopped    bool          // a stopped answer has done:false
	NotDoneFailed     bool          // a failed answer has done:false
	ResumeLive        bool          // resuming gives only what comes, no replay
	DoneMarker        bool          // streams end with data: [DONE]
	FillContent       bool          // an answer's content holds the text too
	HideTyping        bool          // a chat read in mid-generation shows no text yet
	Continues         string        // what the Continue button makes the page send: "response" (default; a further part of the same message), "child" (a message under it), "resume" (the GET), and what no client should let go: "repeat" (the prompt again), "sibling" (another answer), "says" (a message), "elsewhere" (another endpoint), "twice"
	DualAsList        bool          // the second answer of a pair is in no list of children
	PageSize          int           // chats in one page of the list; default 50
	ListLag           time.Duration // the list shows a chat so long after it was made
	OSS               string        // address of the storage that takes files; default: this site
	ParseTime         time.Duration // a file is parsed so long after it came
	ParseFails        bool          // no file can be parsed
	Unsigned          string        // "": unsigned calls to signed endpoints get the captcha; "send": all but completions; "all": none is checked
	StrictCookies     bool          // completions without the page's cookies is an "Internal error"
	MaxPrompt         int           // more characters draw the captcha stub; default 100000, negative no limit
	StreamStaysOpen   bool          // connections stay open after the last frame
	OneRequest        bool          // a connection serves one request and is closed
	TokenLife         time.Duration
	ReplyDelay        time.Duration // every API reply comes so much later
	ThinkingPause     time.Duration // silence between thinking and answer
	AnswersMaxFrames  int           // an answer comes in at most so many pieces; default 20
	HistoryPagesLimit int           // a chat read with limit= or without gives at most so many messages; 0 all
}

// Life returns the default options with the times measured on the real site.
func Life() Options {
	return Options{
		ChunkDelay: 60 * time.Millisecond, FirstByte: 400 * time.Millisecond,
		Ready: 1300 * time.Millisecond, Hydration: 3 * time.Second, Background: 2 * time.Second,
	}
}

func defaultDuration(d *time.Duration, or time.Duration) {
	switch {
	case *d == 0:
		*d = or
	case *d < 0:
		*d = 0
	}
}

// filled puts the defaults in the place of zero values.
func (o Options) filled() Options {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	defaultDuration(&o.ChunkDelay, 5*time.Millisecond)
	defaultDuration(&o.FirstByte, 5*time.Millisecond)
	defaultDuration(&o.KeepAlive, 10*time.Second)
	defaultDuration(&o.Ready, 130*time.Millisecond)
	defaultDuration(&o.Hydration, 300*time.Millisecond)
	defaultDuration(&o.Background, time.Second)
	defaultDuration(&o.TokenLife, 30*24*time.Hour)
	if o.Language == "" {
		o.Language = "en-US"
	}
	if o.Markup == "" {
		o.Markup = MarkupAug
	}
	if len(o.Models) == 0 {
		o.Models = []string{"qwen3.8-max", "qwen3.7-plus", "qwen3.7-max", "qwen3-coder-plus"}
	}
	if o.PageSize == 0 {
		o.PageSize = 50
	}
	if o.MaxPrompt == 0 {
		o.MaxPrompt = 100_000
	}
	if o.AnswersMaxFrames <= 0 {
		o.AnswersMaxFrames = 20
	}
	return o
}
