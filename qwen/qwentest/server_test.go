package qwentest

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

func TestModes(t *testing.T) {
	for mode, want := range map[Mode]string{ModeHTTP: "HTTP/1.1", ModeHTTPS1: "HTTP/1.1", ModeHTTPS2: "HTTP/2.0"} {
		w := dialMode(t, Options{}, mode)
		for range 2 {
			if reply, _ := w.get("/api/models"); reply.Proto != want {
				t.Errorf("mode %d speaks %s, want %s", mode, reply.Proto, want)
			}
		}
		log, server := w.site.Requests(), w.server
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
