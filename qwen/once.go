package qwen

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// once lets a request through the one tunnel a single time. Over h2 Chromium
// repeats a request on the same connection when the server says that it did not
// process it (REFUSED_STREAM, 421), without asking anybody; and a server behind
// a server may be wrong about that.
//
// TLS hides the text, not how much of it there is: the browser's records are
// counted. When the server first speaks after so many bytes as the body and the
// least of headers have, the request is out; the answer is kept back until the
// browser has paused, so that this is sure. From then on there is room for
// whatever keeps a connection going, but not for the body again.
type once struct {
	body int // bytes of the request's body

	mu     sync.Mutex
	lifted bool
	frames tlsRecords
	sent   int       // bytes of application data so far
	last   time.Time // when the browser wrote last
	whole  bool      // the request is out
	extra  int       // bytes in large records since then
}

const (
	leastHead  = 200 // handshake's end, preface and headers are never less
	largeFrame = 100 // acknowledgements and the like are smaller
	oncePause  = 60 * time.Millisecond
)

// errAgain is why the one tunnel is cut: the request would go out twice.
var errAgain = errors.New("the browser sends the request again")

// write looks at what the browser is about to send, and refuses a repeat.
func (o *once) write(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	for _, size := range o.frames.read(b) {
		o.sent += size
		if o.whole && size >= largeFrame {
			o.extra += size
		}
	}
	if !o.lifted && o.whole && o.extra >= o.body {
		return errAgain
	}
	return nil
}

// answer is called before the browser gets a part of the answer; it waits until
// a request that may be out is out.
func (o *once) answer() {
	for {
		o.mu.Lock()
		known := o.lifted || o.whole || o.sent < o.body+leastHead
		wait := oncePause - time.Since(o.last)
		if !known && wait <= 0 {
			o.whole, known = true, true
		}
		o.mu.Unlock()
		if known {
			return
		}
		time.Sleep(wait)
	}
}

// lift ends the watch: the request is answered.
func (o *once) lift() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lifted = true
}

// tlsRecords reads the lengths of TLS records with application data from a
// stream that comes in pieces. A stream that isn't TLS has none.
type tlsRecords struct {
	head  []byte // of the record that begins
	rest  int    // bytes of the record that are still to come
	other bool   // it isn't TLS
}

const (
	tlsHeadSize        = 5
	tlsLeastType       = 20
	tlsApplicationData = 23
	tlsMostType        = 24
)

// read returns the sizes of the records that begin in b.
func (r *tlsRecords) read(b []byte) (sizes []int) {
	for len(b) > 0 && !r.other {
		if r.rest > 0 {
			n := min(r.rest, len(b))
			r.rest, b = r.rest-n, b[n:]
			continue
		}
		n := min(tlsHeadSize-len(r.head), len(b))
		r.head, b = append(r.head, b[:n]...), b[n:]
		if len(r.head) < tlsHeadSize {
			continue
		}
		kind := r.head[0]
		r.rest = int(binary.BigEndian.Uint16(r.head[3:]))
		r.other = kind < tlsLeastType || kind > tlsMostType
		r.head = r.head[:0]
		if kind == tlsApplicationData && !r.other {
			sizes = append(sizes, r.rest)
		}
	}
	return sizes
}
