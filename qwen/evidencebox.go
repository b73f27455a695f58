package qwen

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What is kept of evidence: so many folders, so many bytes in all of them, so
// many in one file. The same error is not kept again so soon.
const (
	evidenceFolders = 20
	evidenceBytes   = 50 << 20
	evidenceFile    = 4 << 20
	evidenceAgain   = 10 * time.Minute
)

// evidenceTime is how the folders' names begin; UTC.
const evidenceTime = "20060102T150405Z"

// Evidence is one folder of what a page showed when it was not understood.
type Evidence struct {
	Path  string
	When  time.Time
	Class string
	Error string // the report's first line
	Bytes int64
}

// ListEvidence lists the folders in dir, the newest first. A dir that is not
// there holds none.
func ListEvidence(dir string) ([]Evidence, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail(KindDisk, "list the evidence", "%w", err)
	}
	var list []Evidence
	for _, entry := range entries {
		stamp, class, ok := strings.Cut(entry.Name(), "-")
		when, err := time.Parse(evidenceTime, stamp)
		if !ok || err != nil || !entry.IsDir() {
			continue
		}
		one := Evidence{Path: filepath.Join(dir, entry.Name()), When: when, Class: strings.TrimRight(class, ".0123456789")}
		report, _ := os.ReadFile(filepath.Join(one.Path, "report.txt"))
		first, _, _ := strings.Cut(string(report), "\n")
		one.Error = strings.TrimPrefix(first, "error: ")
		files, _ := os.ReadDir(one.Path)
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				one.Bytes += info.Size()
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Evidence) int { return cmp.Or(b.When.Compare(a.When), strings.Compare(b.Path, a.Path)) })
	return list, nil
}

// evidenceBox is the folder that holds them all.
type evidenceBox struct{ dir string }

// recent is the folder of the same error, if that was kept a moment ago.
func (b evidenceBox) recent(class, message string) string {
	list, _ := ListEvidence(b.dir)
	for _, one := range list {
		if age := time.Since(one.When); age >= 0 && age < evidenceAgain && one.Class == class && one.Error == oneLine(message, 400) {
			return one.Path
		}
	}
	return ""
}

// write makes a folder, for this user alone, and removes old ones. It returns
// the folder's path also when not every file could be written.
func (b evidenceBox) write(class string, files map[string][]byte) (string, error) {
	if err := makePrivate(b.dir); err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, time.Now().UTC().Format(evidenceTime)+"-"+class)
	for base, n := path, byte('2'); ; n++ {
		err := os.Mkdir(path, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n > '9' {
			return "", err
		}
		path = base + "." + string(n)
	}
	var failed error
	for name, content := range files {
		switch {
		case len(content) <= evidenceFile:
		case strings.HasSuffix(name, ".png"):
			continue // half a picture is none
		default:
			content = content[:evidenceFile]
		}
		failed = errors.Join(failed, os.WriteFile(filepath.Join(path, name), content, 0o600))
	}
	b.prune()
	return path, failed
}

// prune removes the oldest folders beyond what may be kept.
func (b evidenceBox) prune() {
	list, _ := ListEvidence(b.dir)
	total := int64(0)
	for i, one := range list {
		total += one.Bytes
		if i > 0 && (i >= evidenceFolders || total > evidenceBytes) {
			_ = os.RemoveAll(one.Path)
		}
	}
}
