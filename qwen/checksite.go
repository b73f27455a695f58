package qwen

import (
	"embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

//go:embed check
var checkPages embed.FS

// checkSite is the small site on loopback that CheckBrowser opens. It counts
// what comes, and answers no send: it reads the body and resets the connection.
type checkSite struct {
	url string

	http *http.Server
	done sync.WaitGroup

	mu    sync.Mutex
	count map[string]int // POST requests by path
}

const (
	checkWindow = "/from-window" // where the other window posts
	checkChat   = "00000000-0000-4000-8000-000000000000"
)

// newCheckSite starts the site.
func newCheckSite() (*checkSite, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &checkSite{url: "http://" + ln.Addr().String(), count: map[string]int{}}
	pages := map[string]string{"/": "page.html", "/worker.js": "worker.js", "/window": "window.html"}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if page, ok := pages[r.URL.Path]; ok && r.Method == http.MethodGet {
			http.ServeFileFS(w, r, checkPages, "check/"+page)
			return
		}
		s.other(w, r)
	})
	s.http = &http.Server{Handler: mux}
	s.done.Go(func() { _ = s.http.Serve(ln) })
	return s, nil
}

// other answers everything that is no page.
func (s *checkSite) other(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	if r.Method == http.MethodPost {
		s.mu.Lock()
		s.count[r.URL.Path]++
		s.mu.Unlock()
	}
	table := DefaultSite()
	switch {
	case err != nil:
	case r.URL.Path == table.NewChat:
		_, _ = fmt.Fprintf(w, `{"success":true,"data":{"id":%q}}`, checkChat)
	case r.URL.Path == table.Completions:
		reset(w)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// reset breaks the connection under a request without a word.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// posts counts the POST requests to a path so far.
func (s *checkSite) posts(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[path]
}

// sends counts the sends so far.
func (s *checkSite) sends() int { return s.posts(DefaultSite().Completions) }

func (s *checkSite) close() {
	_ = s.http.Close()
	s.done.Wait()
}
