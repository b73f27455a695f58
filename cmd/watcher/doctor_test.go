package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// TestDoctorPrints: a line for each finding, and 1 if any is a fault.
func TestDoctorPrints(t *testing.T) {
	well := func(context.Context) []finding {
		return []finding{ok("browser", "/usr/bin/chromium"), warning("sandbox", "off", "be another user")}
	}
	ill := func(context.Context) []finding { return []finding{faulty("folder", "full", "make room")} }
	for _, c := range []struct {
		json bool
		all  []checks
		want string
		code error
	}{
		{false, []checks{well}, "ok       browser: /usr/bin/chromium\nwarning  sandbox: off; be another user\n", nil},
		{false, []checks{ill, well}, "fault    folder: full; make room\nok       browser: /usr/bin/chromium\nwarning  sandbox: off; be another user\n", exitCode(1)},
		{true, []checks{ill}, `{"check":"folder","level":"fault","detail":"full","hint":"make room"}` + "\n", exitCode(1)},
	} {
		var out bytes.Buffer
		a := &app{stdout: &out}
		if err := a.doctor(t.Context(), c.json, c.all...); !errors.Is(err, c.code) {
			t.Errorf("%v, want %v", err, c.code)
		}
		if out.String() != c.want {
			t.Errorf("%q, want %q", out.String(), c.want)
		}
	}
}
