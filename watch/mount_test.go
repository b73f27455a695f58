package watch

import "testing"

func TestMountOf(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/proc": "/proc", "/proc/self": "/proc", "/nowhere/at/all": "",
	} {
		if got := mountOf(path); got != want {
			t.Errorf("mountOf(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestUncovered(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        bool
	}{
		{"/mnt/usb", "/mnt/usb", false}, // mounted again, or never away
		{"/mnt/usb", "/", true},
		{"/mnt/usb", "/mnt", true},
		{"/mnt/usb", "/mnt/us", false},
		{"/", "/mnt/usb", false}, // something was mounted over it
		{"/", "/", false},
		{"", "/", false}, // nothing is known
	} {
		if got := uncovered(c.before, c.now); got != c.want {
			t.Errorf("uncovered(%q, %q) = %v", c.before, c.now, got)
		}
	}
}
