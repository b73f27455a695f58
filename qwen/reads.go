package qwen

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// LastRead is when this profile last read the chat, or sent to it; zero if
// never. It decides only whether to look again, never whether to send.
func LastRead(profileDir, address string) time.Time {
	path, ok := readPath(profileDir, address)
	if !ok {
		return time.Time{}
	}
	info, err := os.Stat(path)
	if err != nil || info.ModTime().After(time.Now()) {
		return time.Time{}
	}
	return info.ModTime()
}

// noteRead remembers that the chat was read now; forgetting that is harmless.
func (p *Profile) noteRead(address string) {
	path, ok := readPath(p.dir, address)
	if !ok {
		return
	}
	now := time.Now()
	if os.Chtimes(path, now, now) != nil {
		_ = os.WriteFile(path, nil, 0o600)
	}
}

// forgetRead drops what noteRead remembered.
func (p *Profile) forgetRead(address string) {
	if path, ok := readPath(p.dir, address); ok {
		_ = os.Remove(path)
	}
}

// readPath names the note of a chat by the chat's id alone: an address comes
// out of a folder that others write, and may carry anything behind the id.
func readPath(profileDir, address string) (string, bool) {
	_, id, ok := strings.Cut(address, "/c/")
	if !ok || len(id) < uuidLength || !uuidPattern.MatchString(id[:uuidLength]) {
		return "", false
	}
	return filepath.Join(profileDir, "reads", strings.ToLower(id[:uuidLength])), true
}

// readsKept is how long a note of a chat is kept that never came to its end.
const readsKept = 30 * 24 * time.Hour

// sweepReads drops old notes, of chats that failed or were given up.
func sweepReads(dir string) {
	entries, _ := os.ReadDir(filepath.Join(dir, "reads"))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > readsKept {
			_ = os.Remove(filepath.Join(dir, "reads", e.Name()))
		}
	}
}
