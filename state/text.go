package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// decode turns a prompt's bytes into the text to send, by the rules that
// [Dir.ReadPrompt] gives. The reason, when there is one, is for a person.
func decode(b []byte) (text, reason string) {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		text, reason = decode16(b[2:], binary.LittleEndian)
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		text, reason = decode16(b[2:], binary.BigEndian)
	default:
		b = bytes.TrimPrefix(b, []byte("\uFEFF"))
		if i := invalidAt(b); i >= 0 {
			reason = fmt.Sprintf("byte %d (0x%02x) is not UTF-8; save it as UTF-8", i+1, b[i])
		}
		text = string(b)
	}
	if reason != "" {
		return "", reason
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return "", fmt.Sprintf("it holds a NUL after %d bytes of text: it is binary, or UTF-16 without "+
			"a byte order mark; save it as UTF-8", i)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	return strings.TrimRight(text, "\n"), ""
}

// invalidAt is where the first byte stands that is not UTF-8, or -1.
func invalidAt(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// decode16 decodes UTF-16, refusing what utf16.Decode would replace.
func decode16(b []byte, order binary.ByteOrder) (text, reason string) {
	if len(b)%2 != 0 {
		return "", "it is UTF-16 and cut within a character; save it again, best as UTF-8"
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); i += 2 {
		r := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			next := rune(-1)
			if i+4 <= len(b) {
				next = rune(order.Uint16(b[i+2:]))
			}
			if r = utf16.DecodeRune(r, next); r == utf8.RuneError {
				return "", fmt.Sprintf("it is UTF-16 with half a character at byte %d; save it as UTF-8", i+3)
			}
			i += 2
		}
		out.WriteRune(r)
	}
	return out.String(), ""
}
