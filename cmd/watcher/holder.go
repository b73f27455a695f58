package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"watcher/watch"
)

// The holder of a profile listens on PROFILE/socket, HTTP over a unix socket,
// for its own user only:
//
//	GET  /holder  who is at work: {"pid":N,"command":"run","folders":[…]}
//	POST /step    {"file":PATH,"choices":{…}}: take one step for it; the result
//	              as JSON; 409 where the holder sends with other choices
//	POST /yield   give the profile up until this connection ends; the reply
//	              begins when it is free
const (
	pathHolder = "/holder"
	pathStep   = "/step"
	pathYield  = "/yield"
)

// stepPatience is how long a caller waits for the holder to take a step.
const stepPatience = 90 * time.Second

// holderInfo says who holds the profile.
type holderInfo struct {
	PID     int      `json:"pid"`
	Command string   `json:"command"`
	Folders []string `json:"folders,omitempty"`
}

// holder serves the socket of one profile.
type holder struct {
	info    holderInfo
	choices choices // with which it sends; set before use
	server  *http.Server
	dir     *os.File // the profile: a socket's path must be short, so it goes through this
	done    sync.WaitGroup

	mu    sync.Mutex
	agent *watch.Agent // nil while the profile is given up
	yield chan *yielding
}

// yielding is one caller's wish to have the profile for a while.
type yielding struct {
	free chan struct{} // closed by the holder when the profile is free
	back <-chan struct{}
}

// wait tells the other program that the profile is free and waits until it is
// given back.
func (y *yielding) wait(ctx context.Context) {
	close(y.free)
	select {
	case <-y.back:
	case <-ctx.Done():
	}
}

// socketPath is the socket's path through the open profile: the kernel takes
// 107 bytes at most, and a profile may lie deeper than that.
func socketPath(profile *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/socket", profile.Fd())
}

// listen starts to serve. The caller holds the profile's lock, so a socket
// that is there already belongs to nobody.
func listen(profile string, info holderInfo) (*holder, error) {
	dir, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	path := socketPath(dir)
	_ = os.Remove(path)
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600) // the folder is this user's alone anyway
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("listen on %s: %w", filepath.Join(profile, "socket"), err)
	}
	h := &holder{info: info, dir: dir, yield: make(chan *yielding)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHolder, h.serveHolder)
	mux.HandleFunc("POST "+pathStep, h.serveStep)
	mux.HandleFunc("POST "+pathYield, h.serveYield)
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	h.done.Go(func() { _ = h.server.Serve(l) }) // it ends by close
	return h, nil
}

// close ends the serving and removes the socket.
func (h *holder) close() {
	_ = h.server.Close()
	h.done.Wait()
	_ = os.Remove(socketPath(h.dir))
	h.dir.Close()
}

// use names the agent that takes the steps; nil while there is none.
func (h *holder) use(a *watch.Agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agent = a
}

func (h *holder) current() *watch.Agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.agent
}

func (h *holder) serveHolder(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(h.info) // the caller may be gone; nothing to do then
}

func (h *holder) serveStep(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		File    []byte  `json:"file"` // bytes, as names need not be text
		Choices choices `json:"choices"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := h.current()
	if a == nil {
		http.Error(w, "the profile is given up for a login", http.StatusServiceUnavailable)
		return
	}
	if why := ask.Choices.differs(h.choices); why != "" {
		http.Error(w, why, http.StatusConflict)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), stepPatience)
	defer cancel()
	result, err := a.Step(ctx, string(ask.File))
	switch {
	case errors.Is(err, watch.ErrNotRunning), errors.Is(err, context.Canceled) && r.Context().Err() == nil:
		// This holder is ending; the caller tries again, perhaps as holder.
		http.Error(w, "the program is ending", http.StatusServiceUnavailable)
	case err != nil && ctx.Err() == nil:
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		_ = json.NewEncoder(w).Encode(result)
	}
}

func (h *holder) serveYield(w http.ResponseWriter, r *http.Request) {
	y := &yielding{free: make(chan struct{}), back: r.Context().Done()}
	select {
	case h.yield <- y:
	case <-r.Context().Done():
		return
	}
	select {
	case <-y.free:
	case <-r.Context().Done():
		return
	}
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	<-r.Context().Done()
}
