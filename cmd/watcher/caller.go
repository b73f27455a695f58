package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"watcher/watch"
)

// errNoHolder says that nobody answers on the profile's socket.
var errNoHolder = errors.New("nobody answers on the profile's socket")

// caller talks to the holder of a profile.
type caller struct {
	dir    *os.File
	client *http.Client
}

// callHolder prepares to talk to the holder; nothing is sent yet.
func callHolder(profile string) (*caller, error) {
	dir, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socketPath(dir))
	}
	return &caller{dir: dir, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

func (c *caller) close() {
	c.client.CloseIdleConnections()
	c.dir.Close()
}

// helloPatience is how long a holder may take to say who it is: one that is
// stopped takes the connection and says nothing.
const helloPatience = 5 * time.Second

// hello asks who holds the profile.
func (c *caller) hello(ctx context.Context) (holderInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, helloPatience)
	defer cancel()
	var info holderInfo
	err := c.do(ctx, http.MethodGet, pathHolder, nil, &info)
	return info, err
}

// step has the holder take one step for a file. A usageError says that the
// holder would send with other choices.
func (c *caller) step(ctx context.Context, file string, asks choices) (watch.Result, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return watch.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stepPatience)
	defer cancel()
	var result watch.Result
	err = c.do(ctx, http.MethodPost, pathStep, map[string]any{"file": []byte(abs), "choices": asks}, &result)
	result.File = file
	return result, err
}

// do makes one request; errNoHolder when nobody answers it.
func (c *caller) do(ctx context.Context, method, path string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://holder"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	reply, err := c.client.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoHolder, err)
	}
	defer reply.Body.Close()
	switch reply.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(reply.Body).Decode(answer)
	case http.StatusServiceUnavailable:
		return errNoHolder
	}
	text, _ := io.ReadAll(io.LimitReader(reply.Body, 4096))
	err = errors.New(strings.TrimSpace(string(text)))
	if reply.StatusCode == http.StatusConflict {
		return usageError{err}
	}
	return err
}

// yield asks the holder to give the profile up and returns when it is free;
// the profile goes back when release is called, or when this process ends.
func (c *caller) yield(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holder"+pathYield, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	reply, err := c.client.Do(request)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%w: %w", errNoHolder, err)
	}
	return func() { cancel(); reply.Body.Close() }, nil
}
