package qwen

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ID names the profile: 16 hex digits, made once.
func (p *Profile) ID() (string, error) {
	path := filepath.Join(p.dir, "id")
	if b, err := os.ReadFile(path); err == nil {
		if id := strings.TrimSpace(string(b)); len(id) == 16 {
			return id, nil
		}
	} else if !os.IsNotExist(err) {
		return "", fail(KindDisk, "read the profile's id", "%w", err)
	}
	id := randomID()
	if err := writeDurably(path, []byte(id+"\n")); err != nil {
		return "", fail(KindDisk, "write the profile's id", "%w", err)
	}
	return id, nil
}

// Owner returns the id under which this profile and account sign markers. It
// is random, not derived, so that a marker tells nobody whose account it is.
func (p *Profile) Owner(account string) (string, error) {
	path := filepath.Join(p.dir, "accounts.json")
	owners := map[string]string{}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &owners)
	}
	if err != nil && !os.IsNotExist(err) {
		return "", fail(KindDisk, "read the profile's accounts", "%s: %w", path, err)
	}
	if id := owners[account]; id != "" {
		return id, nil
	}
	owners[account] = randomID()
	b, err = json.MarshalIndent(owners, "", "  ")
	if err == nil {
		err = writeDurably(path, append(b, '\n'))
	}
	if err != nil {
		return "", fail(KindDisk, "write the profile's accounts", "%w", err)
	}
	return owners[account], nil
}

func randomID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// writeDurably replaces a small file of the profile so that it is whole and
// stays. A lost owner id would orphan markers.
func writeDurably(path string, content []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Owners lists the ids under which this profile has signed, whatever the
// account. It needs no lock and answers nothing for a profile that it can't
// read; it serves information only.
func Owners(profileDir string) []string {
	b, err := os.ReadFile(filepath.Join(profileDir, "accounts.json"))
	owners := map[string]string{}
	if err != nil || json.Unmarshal(b, &owners) != nil {
		return nil
	}
	return slices.Collect(maps.Values(owners))
}
