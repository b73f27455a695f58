package qwentest

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// frontEnd is the version of the site's own bundle that is imitated.
const frontEnd = "0.2.87"

// Site is the rehearsal site. It is an http.Handler; faults that cut
// connections need it to be served by [Site.Start].
type Site struct {
	secret      []byte
	connections atomic.Int64

	mu       sync.Mutex
	asked    Options             // as they were given
	options  Options             // with the defaults filled in
	accounts map[string]*account // by id
	chats    map[string]*chat    // by id
	uploads  map[string]*upload  // by id
	script   []*Fault
	wishes   map[string]int // directive -> how often it was met
	ledger   ledger
	requests []*Request
}

// New makes a site with one account, [DefaultAccount].
func New(options Options) *Site {
	s := &Site{
		secret: []byte(rand.Text()), asked: options, options: options.filled(),
		accounts: map[string]*account{}, chats: map[string]*chat{}, uploads: map[string]*upload{}, wishes: map[string]int{},
	}
	s.account(DefaultAccount)
	return s
}

// Configure changes the options while the site runs. Zero values that change
// leaves in them mean their defaults again.
func (s *Site) Configure(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.asked)
	s.options = s.asked.filled()
}

// ConfigureJSON changes the options that a JSON object names, in any case;
// durations are text such as "1.5s", or milliseconds. On an error nothing is
// changed.
func (s *Site) ConfigureJSON(raw []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.asked
	if err := apply(&changed, raw); err != nil {
		return err
	}
	s.asked, s.options = changed, changed.filled()
	return nil
}

// Options returns the options in force.
func (s *Site) Options() Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options
}

func (s *Site) now() time.Time { return s.options.Clock.Now() }

// ServeHTTP answers one request and writes it to the log.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_rehearsal") {
		s.serveAdmin(w, r)
		return
	}
	line := s.logRequest(r)
	c := &call{site: s, w: &statusWriter{ResponseWriter: w, site: s, line: line}, r: r, options: s.Options(), line: line}
	if c.options.OneRequest {
		w.Header().Set("Connection", "close")
	}
	s.route(c)
}

// call is one request on its way through the site.
type call struct {
	site    *Site
	w       *statusWriter
	r       *http.Request
	options Options // as they were when it came
	line    *Request
	faults  faults
}

func (c *call) reused() bool { return connectionOf(c.r).used.Load() > 1 }

// route finds the handler for a request.
func (s *Site) route(c *call) {
	path, method := c.r.URL.Path, c.r.Method
	switch {
	case path == "/api/v2/chat/completions" && method == http.MethodPost:
		c.send()
	case path == "/api/v2/chat/completions" && method == http.MethodGet:
		c.endpoint(OnResume, c.resume)
	case path == "/api/v2/chat/completions/stop" && method == http.MethodPost:
		c.endpoint(OnStop, c.stop)
	case path == "/api/v2/chats/new" && method == http.MethodPost:
		c.endpoint(OnNew, c.newChat)
	case path == "/api/v2/chats/" && method == http.MethodGet, path == "/api/v2/chats" && method == http.MethodGet:
		c.endpoint(OnList, c.list)
	case path == "/api/v2/chats/" && method == http.MethodDelete, path == "/api/v2/chats" && method == http.MethodDelete:
		c.deleteAll()
	case strings.HasPrefix(path, "/api/v2/chats/") && method == http.MethodGet:
		c.endpoint(OnChat, c.getChat)
	case strings.HasPrefix(path, "/api/v2/chats/") && method == http.MethodDelete:
		c.endpoint(OnOther, c.deleteChat)
	case path == "/api/v1/auths/" || path == "/api/v1/auths":
		c.endpoint(OnAuths, c.auths)
	case path == "/api/v2/files/getstsToken":
		c.endpoint(OnFiles, c.fileToken)
	case path == "/api/v2/files/parse":
		c.endpoint(OnParse, c.parseFile)
	case path == "/api/v2/files/parse/status":
		c.endpoint(OnParse, c.parseStatus)
	case strings.HasPrefix(path, ossPath):
		c.oss()
	case strings.HasPrefix(path, "/api/"):
		c.endpoint(OnOther, c.other)
	default:
		c.page()
	}
}

// statusWriter writes the status to the log and can flush.
type statusWriter struct {
	http.ResponseWriter
	site  *Site
	line  *Request
	begun bool
}

// WriteHeader counts once: a fault may have sent the headers before.
func (w *statusWriter) WriteHeader(status int) {
	if w.begun {
		return
	}
	w.begun = true
	w.site.mu.Lock()
	w.line.Status = status
	w.site.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

func (w *statusWriter) flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// sleep waits by the site's clock; false when the client left first.
func (c *call) sleep(d time.Duration) bool {
	if d <= 0 {
		return c.r.Context().Err() == nil
	}
	select {
	case <-c.options.Clock.After(d):
		return true
	case <-c.r.Context().Done():
		return false
	}
}
