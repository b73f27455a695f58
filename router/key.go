package router

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// ReadKey reads a key from a file that holds it alone. warning is for a person,
// where others may read the file, too.
func ReadKey(path string) (key, warning string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read the other engine's key: %w", err)
	}
	key = strings.TrimSpace(string(b))
	if key == "" || len(key) > 4096 || strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' }) {
		return "", "", fmt.Errorf("read the other engine's key: %s does not hold a key alone, on one line", path)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		warning = fmt.Sprintf("%s can be read by others (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	return key, warning, err
}
