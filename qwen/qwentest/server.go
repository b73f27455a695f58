package qwentest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// Mode is how a server speaks.
type Mode int

// The modes. Connections are kept alive in all of them.
const (
	ModeHTTP   Mode = iota // HTTP/1.1 without TLS
	ModeHTTPS1             // HTTP/1.1 over TLS
	ModeHTTPS2             // HTTP/2 over TLS
)

// Server is a site that listens on a loopback address.
type Server struct {
	URL     string // scheme, host and port; no slash at the end
	SPKI    string // base64 of the sha256 of the certificate's public key, for --ignore-certificate-errors-spki-list; empty without TLS
	CertPEM []byte // the certificate; nil without TLS

	http   *http.Server
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // the accept loop and every handler
}

// Start serves the site on a free port of 127.0.0.1. Several servers may
// serve one site at a time.
func (s *Site) Start(mode Mode) (*Server, error) { return s.StartOn("127.0.0.1:0", mode) }

// StartOn is Start on the given address.
func (s *Site) StartOn(address string, mode Mode) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the rehearsal site: %w", err)
	}
	base, cancel := context.WithCancel(context.Background())
	server := &Server{URL: "http://" + listener.Addr().String(), cancel: cancel}
	server.http = &http.Server{
		ConnContext: s.withConnection,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    log.New(io.Discard, "", 0), // dropped connections are the point here
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if server.enter() {
				defer server.wg.Done()
				s.ServeHTTP(w, r)
			}
		}),
	}
	if mode != ModeHTTP {
		if listener, err = server.secure(listener, mode); err != nil {
			cancel()
			return nil, err
		}
	}
	server.wg.Go(func() { _ = server.http.Serve(listener) })
	return server, nil
}

// Close ends all connections and waits for their handlers.
func (v *Server) Close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	_ = v.http.Close()
	v.wg.Wait()
}

// enter counts a handler in, unless the server is closing.
func (v *Server) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.wg.Add(1)
	}
	return !v.closed
}

func (v *Server) secure(l net.Listener, mode Mode) (net.Listener, error) {
	certificate, err := certificateOnce()
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	protocols := new(http.Protocols)
	next := "http/1.1"
	if mode == ModeHTTPS2 {
		next = "h2"
		protocols.SetHTTP2(true)
	} else {
		protocols.SetHTTP1(true)
	}
	v.http.Protocols = protocols
	v.SPKI = spki(certificate.Leaf)
	v.CertPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	v.URL = "https://" + l.Addr().String()
	v.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{next}, MinVersion: tls.VersionTLS12}
	return tls.NewListener(l, v.http.TLSConfig), nil
}

func spki(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// certificateOnce gives all servers of a process one certificate, so that a
// browser started for one of them trusts them all.
var certificateOnce = sync.OnceValues(newCertificate)

// newCertificate makes a self-signed certificate for the loopback addresses.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "rehearsal site"},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
