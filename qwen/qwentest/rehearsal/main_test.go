package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs the command until its standard input ends and returns what it
// said when it was ready, and a func that ends it.
func serve(t *testing.T, args ...string) (ready map[string]any, end func() (code int, stderr string)) {
	t.Helper()
	stdinR, stdinW := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan int)
	go func() {
		code := run(context.Background(), append(args, "--until-stdin-closes"), stdinR, stdoutW, &stderr)
		_ = stdoutW.Close()
		done <- code
	}()
	if err := json.NewDecoder(stdoutR).Decode(&ready); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return ready, func() (int, string) {
		_ = stdinW.Close()
		_, _ = io.Copy(io.Discard, stdoutR)
		return <-done, stderr.String()
	}
}

func TestServesUntilStdinCloses(t *testing.T) {
	ready, end := serve(t, "--fast", "--ledger", "--delay=1ms", `--options={"Guest":true,"ChunkDelay":"2ms"}`, `--fault={"kind":"status","n":503,"on":"page"}`)
	url := ready["url"].(string)
	if !strings.HasPrefix(url, "http://127.0.0.1:") || ready["token"] == "" || ready["pid"].(float64) < 1 {
		t.Errorf("ready: %v", ready)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, want := range []int{503, 200} {
		reply, err := client.Get(url + "/")
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("status %d, want %d", reply.StatusCode, want)
		}
	}
	if code, stderr := end(); code != 0 || !strings.Contains(stderr, `"Entries"`) {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

func TestTLSFlags(t *testing.T) {
	for _, args := range [][]string{{"--tls"}, {"--tls", "--h1"}} {
		ready, end := serve(t, args...)
		if !strings.HasPrefix(ready["url"].(string), "https://") || len(ready["spki"].(string)) != 44 {
			t.Errorf("%v: %v", args, ready)
		}
		if code, _ := end(); code != 0 {
			t.Errorf("%v: code %d", args, code)
		}
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, nil, strings.NewReader(""), &stdout, &stderr); code != 0 || stdout.Len() == 0 {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]int{
		"--nonsense": 2, "extra": 2, `--options={"x":1}`: 2, `--fault={"kind":"x"}`: 2, "--addr=127.0.0.1:1:1": 1, "--help": 0,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), []string{args}, strings.NewReader(""), &stdout, &stderr); code != want || stderr.Len() == 0 || stdout.Len() != 0 {
			t.Errorf("%s: code %d, want %d; stderr %q", args, code, want, stderr.String())
		}
	}
}
