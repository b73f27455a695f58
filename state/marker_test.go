package state

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMarkerLine(t *testing.T) {
	m := released(chatA, ownerA)
	want := chatA + "#prompt=8f434346648f6b96&by=" + ownerA + "&stage=released&at=1790000000\n"
	if got := m.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	m.Stage, m.After, m.Message = StageSent, "a&b", "m=1"
	want = chatA + "#prompt=8f434346648f6b96&by=" + ownerA + "&stage=sent&at=1790000000&after=a%26b&message=m%3D1\n"
	if got := m.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParseMarker(t *testing.T) {
	whole := released(chatA, ownerA)
	sent, line := whole, whole.String()
	sent.Stage = StageSent
	unknown, bare := Marker{Stage: StageSent}, Marker{Stage: StageSent, Address: chatA}
	cut := func(n int) string { return line[:len(line)-n] }
	for what, c := range map[string]struct {
		file string
		want Marker
	}{
		"as written":              {line, whole},
		"white space around":      {"\n \t" + cut(1) + " \r\n\n", whole},
		"byte order mark":         {"\uFEFF" + line, whole},
		"no final newline":        {cut(1), sent},
		"blank instead of it":     {cut(1) + "  ", sent},
		"words behind":            {cut(1) + " # do not touch\n", sent},
		"a second line":           {line + chatB + "\n", sent},
		"no stage":                {strings.Replace(line, "&stage=released", "", 1), sent},
		"unknown stage":           {strings.Replace(line, "released", "unsent", 1), sent},
		"stage in capitals":       {strings.Replace(line, "released", "Released", 1), sent},
		"stage twice":             {cut(1) + "&stage=released\n", sent},
		"stages that differ":      {strings.Replace(line, "stage=", "stage=sent&stage=", 1), sent},
		"unknown key":             {cut(1) + "&colour=red\n", whole},
		"no owner":                {chatA + "#prompt=8f434346648f6b96&stage=released\n", Marker{Address: chatA, Prompt: "8f434346648f6b96", Stage: StageSent}},
		"no prompt":               {chatA + "#by=me&stage=released\n", Marker{Address: chatA, By: "me", Stage: StageSent}},
		"bad time":                {chatA + "#at=x\n", bare},
		"bad escape":              {cut(1) + "&message=%zz\n", sent},
		"address alone":           {chatA + "\n", bare},
		"the same, no newline":    {chatA, bare},
		"empty fragment":          {chatA + "#\n", bare},
		"cut in the fragment":     {chatA + "#pro", bare},
		"cut in the address":      {chatA[:len(chatA)-1], unknown},
		"cut after the host":      {"https://chat.example/", unknown},
		"empty":                   {"", unknown},
		"white space only":        {strings.Repeat(" ", 256), unknown},
		"zeros after a power cut": {strings.Repeat("\x00", 256), unknown},
		"not text":                {"\xff\xfe\x00h\n", unknown},
		"no address":              {"#prompt=8f434346648f6b96&by=me&stage=released\n", Marker{Prompt: "8f434346648f6b96", By: "me", Stage: StageSent}},
		"another place":           {"file:///etc/passwd\n", Marker{Address: "file:///etc/passwd", Stage: StageSent}},
	} {
		if got := ParseMarker([]byte(c.file)); got != c.want {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}

// anyMarker draws markers as the program writes them.
var anyMarker = rapid.Custom(func(t *rapid.T) Marker {
	text := rapid.StringN(0, 12, -1)
	return Marker{
		Address: rapid.StringMatching(`https://[a-z.]{1,12}(:[0-9]{2,4})?/c/[0-9a-f-]{1,36}`).Draw(t, "address"),
		Prompt:  rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "prompt"),
		By:      rapid.StringMatching(`[0-9a-f]{8,16}`).Draw(t, "by"),
		Stage:   rapid.SampledFrom([]Stage{StageReleased, StageSent}).Draw(t, "stage"),
		At:      rapid.Int64().Draw(t, "at"),
		After:   text.Draw(t, "after"),
		Message: text.Draw(t, "message"),
		Engine:  rapid.SampledFrom([]string{"", "router", "another one"}).Draw(t, "engine"),
		Instead: text.Draw(t, "instead"),
	}
})

func TestMarkerRoundTripAndCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMarker.Draw(t, "marker")
		line := m.String()
		if got := ParseMarker([]byte(line)); got != m {
			t.Fatalf("%q reads as %+v, want %+v", line, got, m)
		}
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%q is not one line", line)
		}
		for i := range line {
			got := ParseMarker([]byte(line[:i]))
			if got.Stage != StageSent {
				t.Fatalf("cut to %q: %+v", line[:i], got)
			}
			if got.Address != "" && got.Address != m.Address && !wholeChat.MatchString(got.Address) {
				t.Fatalf("cut to %q: half an address, %q", line[:i], got.Address)
			}
		}
	})
}

// checkMarker holds for any bytes at all.
func checkMarker(t interface{ Fatalf(string, ...any) }, b []byte) {
	m := ParseMarker(b)
	if m.Stage != StageSent && m.Stage != StageReleased {
		t.Fatalf("%q: stage %q", b, m.Stage)
	}
	if m.Stage == StageReleased {
		// Only what this program writes, give or take white space and keys
		// that it does not know, may ever lead to a second send.
		if again := ParseMarker([]byte(m.String())); again != m || m.By == "" || m.Address == "" || len(m.Prompt) != 16 {
			t.Fatalf("%q is released: %+v", b, m)
		}
		if !strings.Contains(string(b), "stage=released") && !strings.Contains(string(b), "%") {
			t.Fatalf("%q is released", b)
		}
		for i := range b[:strings.LastIndexByte(string(b), '\n')] {
			if strings.TrimSpace(string(b[i:])) != "" && ParseMarker(b[:i]).Stage != StageSent {
				t.Fatalf("cut to %q: released", b[:i])
			}
		}
	}
}

func TestMarkerGarbage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkMarker(t, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		// A marker with one byte changed still never says more than before.
		m := anyMarker.Draw(t, "marker")
		m.Stage = StageSent
		b := []byte(m.String())
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		if got := ParseMarker(b); got.Stage != StageSent {
			t.Fatalf("%q: %v", b, got.Stage)
		}
		checkMarker(t, b)
	})
}

func FuzzMarker(f *testing.F) {
	f.Add([]byte(released(chatA, ownerA).String()))
	f.Add([]byte(chatA))
	f.Add([]byte(chatA + "#prompt=8f434346648f6b96&by=a&stage=%72eleased&x\n"))
	f.Add([]byte("\uFEFF \x00#stage=released\n"))
	f.Fuzz(func(t *testing.T, b []byte) { checkMarker(t, b) })
}

func TestMarkerThatCannotBeWritten(t *testing.T) {
	good := released(chatA, ownerA)
	for what, change := range map[string]func(*Marker){
		"no address":      func(m *Marker) { m.Address = "" },
		"a fragment":      func(m *Marker) { m.Address += "#x" },
		"a space":         func(m *Marker) { m.Address += " x" },
		"a newline":       func(m *Marker) { m.Address += "\nx" },
		"no owner":        func(m *Marker) { m.By = "" },
		"no fingerprint":  func(m *Marker) { m.Prompt = "hi" },
		"no stage":        func(m *Marker) { m.Stage = "" },
		"a strange stage": func(m *Marker) { m.Stage = "unsent" },
	} {
		m := good
		change(&m)
		if line, err := m.line(); err == nil {
			t.Errorf("%s: %q", what, line)
		}
	}
}
