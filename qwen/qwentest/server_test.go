package qwentest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// trusting is a client that trusts a server's certificate and no other.
func trusting(t *testing.T, server *Server) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if server.CertPEM != nil && !pool.AppendCertsFromPEM(server.CertPEM) {
		t.Fatal("CertPEM holds no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func TestModes(t *testing.T) {
	for mode, want := range map[Mode]string{ModeHTTP: "HTTP/1.1", ModeHTTPS1: "HTTP/1.1", ModeHTTPS2: "HTTP/2.0"} {
		site := New(Options{})
		server, err := site.Start(mode)
		if err != nil {
			t.Fatal(err)
		}
		client := trusting(t, server)
		for range 2 {
			reply, err := client.Get(server.URL + "/api/models")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, reply.Body)
			reply.Body.Close()
			if reply.Proto != want {
				t.Errorf("mode %d speaks %s, want %s", mode, reply.Proto, want)
			}
		}
		log := site.Requests()
		if len(log) != 2 || log[0].Reused || !log[1].Reused || log[0].Connection != log[1].Connection || log[1].Status != 200 {
			t.Errorf("mode %d: log %+v", mode, log)
		}
		if mode != ModeHTTP {
			block, _ := pem.Decode(server.CertPEM)
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err != nil || spki(certificate) != server.SPKI || len(server.SPKI) != 44 {
				t.Errorf("SPKI %q, %v", server.SPKI, err)
			}
		}
		server.Close()
	}
}

// TestDropsUnderHTTP2 cuts the connection that several requests share.
func TestDropsUnderHTTP2(t *testing.T) {
	site := New(Options{Unsigned: "all"})
	server, err := site.Start(ModeHTTPS2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := trusting(t, server)
	for _, kind := range []Kind{DropRST, DropFIN, UnreadRST, PartialFIN, HeadersRST, Cut} {
		site.Fault(Fault{Kind: kind, N: 3, On: map[bool]string{true: OnSend}[true]})
		r, err := http.NewRequest("POST", server.URL+sendPath("x"), strings.NewReader(body("x", "", "h2 "+string(kind))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		reply, err := client.Do(r)
		if err == nil {
			reply.Body.Close()
			// Without the other headers nothing is accepted, so Cut and
			// HeadersRST have nothing to strike.
			if kind != Cut && kind != HeadersRST && kind != DropRST && kind != DropFIN {
				t.Errorf("%s: a reply with status %d", kind, reply.StatusCode)
			}
		}
		site.Clear()
	}
}

func TestCloseEndsOpenStreams(t *testing.T) {
	w := dial(t, Options{})
	chat := start(w, "for ever\n!rehearsal fault=stuck")
	done := make(chan struct{})
	go func() { w.server.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("Close hangs")
	}
	if _, err := w.site.StartOn("127.0.0.1:1:1", ModeHTTP); err == nil || !strings.Contains(err.Error(), "serve the rehearsal site") {
		t.Errorf("a bad address: %v", err)
	}
	again, err := w.site.Start(ModeHTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	w.server = again
	w.login(w.site.Token())
	if w.read(chat) == nil {
		t.Error("the chat did not survive its server")
	}
}
