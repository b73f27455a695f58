package router_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"watcher/router"
)

func TestReadKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for _, tc := range []struct {
		content string
		mode    os.FileMode
		key     string
		warns   bool
	}{
		{"sk-abc\n", 0o600, "sk-abc", false},
		{"  sk-abc  \r\n", 0o400, "sk-abc", false},
		{"sk-abc", 0o640, "sk-abc", true},
		{"sk-abc", 0o604, "sk-abc", true},
		{"", 0o600, "", false},
		{"sk-abc\nsk-def\n", 0o600, "", false},
		{"sk abc", 0o600, "", false},
		{"sk-äbc", 0o600, "", false},
	} {
		os.Remove(path)
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tc.mode); err != nil {
			t.Fatal(err)
		}
		key, warning, err := router.ReadKey(path)
		if key != tc.key || (warning != "") != tc.warns || (err == nil) != (tc.key != "") {
			t.Errorf("%q, %o: %q, %q, %v", tc.content, tc.mode, key, warning, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk") {
			t.Errorf("the key is in the error: %v", err)
		}
	}
	if _, _, err := router.ReadKey(path + "-not"); err == nil {
		t.Error("a file that is not there was read")
	}
}
