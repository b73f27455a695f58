package qwentest

import (
	"encoding/binary"
	"net/http"
	"time"
)

// Frames of h2 that the server library does not send when one wants it to:
// their types and error codes are those of RFC 9113.
const (
	frameRSTStream = 0x3
	frameGoAway    = 0x7

	noError       = 0x0
	refusedStream = 0x7
)

// strikeFrame says by a frame of h2 what becomes of the request.
func (c *call) strikeFrame(f Fault) {
	conn := connectionOf(c.r)
	if c.r.ProtoMajor < 2 || conn.tls == nil {
		if f.Kind == GoAwayDone {
			c.w.Header().Set("Connection", "close")
			return
		}
		cut(c.r, false, false)
	}
	stream := uint32(2*c.line.order - 1) // clients number their requests 1, 3, 5...
	switch f.Kind {
	case GoAwayDone:
		_, _ = conn.tls.Write(rawFrame(frameGoAway, 0, stream, noError))
		return
	case GoAway:
		_, _ = conn.tls.Write(rawFrame(frameGoAway, 0, 0, noError))
		c.sleep(100 * time.Millisecond) // the client reads it before the end
		cut(c.r, false, false)
	case RefuseStream:
		_, _ = conn.tls.Write(rawFrame(frameRSTStream, stream, refusedStream))
	}
	panic(http.ErrAbortHandler)
}

// rawFrame is a frame without flags whose payload is 32-bit numbers.
func rawFrame(kind byte, stream uint32, payload ...uint32) []byte {
	frame := []byte{0, 0, byte(4 * len(payload)), kind, 0}
	frame = binary.BigEndian.AppendUint32(frame, stream)
	for _, n := range payload {
		frame = binary.BigEndian.AppendUint32(frame, n)
	}
	return frame
}
