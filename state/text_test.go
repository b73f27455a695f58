package state

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestDecode(t *testing.T) {
	for file, want := range map[string]string{
		"hello":                    "hello",
		"hello\n":                  "hello",
		"hello\r\n\r\n\n":          "hello",
		"\n\n  hello  \n":          "\n\n  hello  ",
		"a\r\nb\rc\nd":             "a\nb\nc\nd",
		"a\r\r\nb":                 "a\n\nb",
		"\xef\xbb\xbfhello":        "hello",
		"\xef\xbb\xbf":             "",
		"\xef\xbb\xbf\uFEFFx":      "\uFEFFx",
		"\n":                       "",
		"":                         "",
		"tab\tand \x1b and \x0b":   "tab\tand \x1b and \x0b",
		"a\u2028b\u0085c":          "a\u2028b\u0085c",
		"\uFFFD":                   "\uFFFD",
		"\xff\xfeh\x00i\x00\n\x00": "hi",
		"\xfe\xff\x00h\x00i\x00\n": "hi",
		"\xff\xfe":                 "",
		"\xff\xfe\x3d\xd8\x00\xde": "😀",
		"---\nmodel: x\n---\nhi":   "---\nmodel: x\n---\nhi",
	} {
		if got, reason := decode([]byte(file)); got != want || reason != "" {
			t.Errorf("%q: %q, %q; want %q", file, got, reason, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for file, want := range map[string]string{
		"a\x00b":                        "NUL after 1 byte",
		"h\x00i\x00":                    "UTF-16 without",
		"a\xffb":                        "byte 2 (0xff) is not UTF-8",
		"caf\xe9":                       "byte 4 (0xe9)",
		"\xed\xa0\x80":                  "not UTF-8", // half a surrogate pair
		"\xc0\x80":                      "not UTF-8", // NUL, overlong
		"\xff\xfeh":                     "UTF-16 and cut",
		"\xff\xfe\x3d\xd8":              "half a character at byte 3",
		"\xff\xfe\x3d\xd8h\x00":         "half a character",
		"\xff\xfe\x00\xdeh\x00":         "half a character",
		"\xff\xfeh\x00\x00\x00":         "NUL",
		"\xff\xfe\x00\x00h\x00\x00\x00": "NUL", // UTF-32
	} {
		got, reason := decode([]byte(file))
		if got != "" || !strings.Contains(reason, want) {
			t.Errorf("%q: %q, %q; want %q", file, got, reason, want)
		}
	}
}

// checkDecode: either refused, or a text that a web page's text field holds as
// it is, in which nothing but line ends differs from the file.
func checkDecode(t interface{ Fatalf(string, ...any) }, b []byte) {
	text, reason := decode(b)
	if reason != "" {
		if text != "" {
			t.Fatalf("%q: %q and %q", b, text, reason)
		}
		return
	}
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r") || strings.HasSuffix(text, "\n") {
		t.Fatalf("%q: %q", b, text)
	}
	if again, _ := decode([]byte("\uFEFF" + text)); again != text {
		t.Fatalf("%q: %q, then %q", b, text, again)
	}
}

func TestDecodeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkDecode(t, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		text := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") }).Draw(t, "text")
		want, _ := decode([]byte("\uFEFF" + text))
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			var b []byte
			for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(text))...) {
				b = order.AppendUint16(b, u)
			}
			if got, reason := decode(b); got != want {
				t.Fatalf("%v %q: %q, %q", order, text, got, reason)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"hi\r\n", "\xff\xfeh\x00", "\xfe\xff\x00h", "\xef\xbb\xbfx", "a\xff", "\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkDecode(t, b) })
}
