package qwen

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// record is a TLS record of a type with so many bytes.
func record(kind byte, size int) []byte {
	return append([]byte{kind, 3, 3, byte(size >> 8), byte(size)}, bytes.Repeat([]byte{23}, size)...)
}

// wholeRequest is what the browser writes for a request with a body: the end of the
// handshake, its preface, headers and the body.
func wholeRequest(body int) (b []byte) {
	b = append(record(22, 1800), record(20, 1)...)
	for _, size := range []int{53, 80, 600} {
		b = append(b, record(23, size)...)
	}
	return append(b, dataRecords(body)...)
}

// dataRecords carry a body in pieces as Chromium does.
func dataRecords(body int) (b []byte) {
	const most = 2851
	for ; body > 0; body -= most {
		b = append(b, record(23, min(body, most)+26)...)
	}
	return b
}

// TestOnce: a request passes, what keeps the connection going passes, the
// request does not pass again, in whatever pieces it comes.
func TestOnce(t *testing.T) {
	for _, body := range []int{500, 2851, 2852, 60_000} {
		for _, piece := range []int{1, 7, 4096, 1 << 20} {
			synctest.Test(t, func(t *testing.T) {
				o := &once{body: body}
				must := func(b []byte) {
					t.Helper()
					for part := range slices.Chunk(b, piece) {
						if err := o.write(part); err != nil {
							t.Fatalf("body %d: %v", body, err)
						}
					}
				}
				must(record(22, 1800))
				o.answer() // the handshake's
				must(wholeRequest(body))
				begin := time.Now()
				o.answer()
				if waited := time.Since(begin); waited != oncePause {
					t.Errorf("body %d: the answer waits %v", body, waited)
				}
				for range 100 {
					must(record(23, 39))
					o.answer()
				}
				var err error
				for part := range slices.Chunk(append(record(23, 150), dataRecords(body)...), piece) {
					if err = o.write(part); err != nil {
						break
					}
				}
				if !errors.Is(err, errAgain) {
					t.Errorf("body %d in pieces of %d: the repeat gives %v", body, piece, err)
				}
			})
		}
	}
}

// TestOnceLets: what is no repeat passes.
func TestOnceLets(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []byte
		lifted        bool
	}{
		"answered":                  {wholeRequest(500), wholeRequest(500), true},
		"not TLS":                   {[]byte("POST / HTTP/1.1\r\n\r\n" + string(make([]byte, 900))), make([]byte, 900), false},
		"two handshakes":            {append(record(22, 1800), record(22, 1800)...), wholeRequest(500), false},
		"a window in mid-body":      {wholeRequest(60_000)[:50_000], dataRecords(20_000), false},
		"a window before the end":   {wholeRequest(66_000 - 400), dataRecords(400), false},
		"the server speaks at once": {record(23, 53), wholeRequest(500), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &once{body: 500}
			if len(c.before) > 40_000 {
				o.body = 66_000
			}
			if err := o.write(c.before); err != nil {
				t.Fatal(err)
			}
			o.answer()
			if c.lifted {
				o.lift()
			}
			if err := o.write(c.after); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestProxyLetsABodyThroughOnce: the one tunnel is cut before a repeat is
// written; an open proxy carries as many as come.
func TestProxyLetsABodyThroughOnce(t *testing.T) {
	for _, open := range []bool{false, true} {
		site := newEndpoint(t)
		p := newTestProxy(t, site.address(), nil)
		p.allowOne(500)
		client, err := through(t, p, site.address())
		if err != nil {
			t.Fatal(err)
		}
		echoes := func(b []byte) error {
			if _, err := client.Write(b); err != nil {
				return err
			}
			_, err := io.ReadFull(client, make([]byte, len(b)))
			return err
		}
		if err := echoes(wholeRequest(500)); err != nil {
			t.Fatal(err)
		}
		if err := echoes(record(23, 39)); err != nil {
			t.Fatal(err)
		}
		if open {
			p.setMode(modeOpen)
		}
		before := len(site.received())
		if err := echoes(dataRecords(500)); (err == nil) != open {
			t.Errorf("open %v: %v", open, err)
		}
		if more := len(site.received()) - before; !open && more > 0 {
			t.Errorf("%d bytes of the repeat came", more)
		}
	}
}
