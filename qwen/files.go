package qwen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const opFiles = "send the files"

// What the site takes with a prompt.
//
// Source: public clients of 2026. One sends files of up to 100 MB and refuses
// archives, which the site does not open.
const (
	FileMost  = 100 << 20 // bytes of one file
	FilesMost = 10        // files of one prompt; the program's own limit
)

// archives are the endings of files that the site does not open.
var archives = []string{".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".iso", ".exe", ".dll", ".dmg"}

// pictures are the endings of files that are shown to the model and not parsed.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".mp4", ".mov", ".avi", ".mkv", ".mp3", ".wav", ".flac", ".m4a"}

func hasEnding(name string, endings []string) bool {
	return slices.Contains(endings, strings.ToLower(filepath.Ext(name)))
}

// CheckFile says why a file can't go with a prompt, by its name and its size in
// bytes; nil if nothing is known against it. The error is of KindInvalid.
func CheckFile(name string, size int64) error {
	e := func(format string, args ...any) error {
		err := fail(KindInvalid, opFiles, format, args...)
		err.Advice = "leave the file away, or send it in another form; nothing was sent"
		return err
	}
	switch {
	case hasEnding(name, archives):
		return e("%q: the site opens no files that end in %s", name, strings.ToLower(filepath.Ext(name)))
	case size == 0:
		return e("%q is empty", name)
	case size > FileMost:
		return e("%q has %d MB and at most %d are taken", name, size>>20, FileMost>>20)
	}
	return nil
}

// enclosure is a file that goes with a prompt.
type enclosure struct {
	path, name string
	size       int64
}

// enclose looks at the files at these paths.
func enclose(paths []string) ([]enclosure, error) {
	if len(paths) > FilesMost {
		return nil, fail(KindInvalid, opFiles, "%d files, and at most %d go with a prompt", len(paths), FilesMost)
	}
	var files []enclosure
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, fail(KindInvalid, opFiles, "%w", err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fail(KindInvalid, opFiles, "%w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, fail(KindInvalid, opFiles, "%s is not a file", path)
		}
		if err := CheckFile(info.Name(), info.Size()); err != nil {
			return nil, err
		}
		files = append(files, enclosure{path, info.Name(), info.Size()})
	}
	return files, nil
}

// sentFile is one entry of the held body's files. What the site's page leaves out
// of it is not demanded; what it says must be right.
type sentFile struct {
	Name   string          `json:"name"`
	Size   *int64          `json:"size"`
	Status string          `json:"status"`
	Error  json.RawMessage `json:"error"`
	File   struct {
		Name string `json:"filename"`
		Size *int64 `json:"size"`
		Meta struct {
			Name  string `json:"name"`
			Size  *int64 `json:"size"`
			Parse struct {
				Status string `json:"parse_status"`
			} `json:"parse_meta"`
		} `json:"meta"`
	} `json:"file"`
}

// fileKeys are the names of what verifyFiles looks at.
var fileKeys = []string{"name", "size", "status", "error", "file", "filename", "meta", "parse_meta", "parse_status"}

// verifyFiles demands the files that were asked for, in order, whole and parsed,
// and no other.
func (w wanted) verifyFiles(list []json.RawMessage) error {
	const op = "check the request"
	if len(w.files) == 0 && len(list) > 0 {
		return fail(KindAltered, op, "the page attaches %d files that nobody asked for", len(list))
	}
	if len(list) != len(w.files) {
		return fail(KindSiteChanged, op, "it carries %d files instead of %d", len(list), len(w.files))
	}
	for i, raw := range list {
		var f sentFile
		if err := json.Unmarshal(raw, &f); err != nil {
			return fail(KindSiteChanged, op, "its file %d is not understood: %w", i+1, err)
		}
		if key := misspeltIn(raw, fileKeys); key != "" {
			return fail(KindSiteChanged, op, "its file says %q, which another reader may take differently", key)
		}
		if err := w.files[i].verify(f); err != nil {
			return err
		}
	}
	return nil
}

// verify demands that an entry is this file.
func (e enclosure) verify(f sentFile) error {
	const op = "check the request"
	for _, name := range []string{f.File.Name, f.File.Meta.Name} {
		if name != "" && name != e.name {
			return fail(KindSiteChanged, op, "it carries the file %q where %q is wanted", oneLine(name, 80), e.name)
		}
	}
	for _, size := range []*int64{f.File.Size, f.File.Meta.Size} {
		if size != nil && *size != e.size {
			return fail(KindSiteChanged, op, "its file %q has %d bytes instead of %d", e.name, *size, e.size)
		}
	}
	switch {
	case f.Name != e.name:
		return fail(KindSiteChanged, op, "it carries the file %q where %q is wanted", oneLine(f.Name, 80), e.name)
	case f.Size == nil || *f.Size != e.size:
		return fail(KindSiteChanged, op, "its file %q does not have %d bytes", e.name, e.size)
	case says(f.Error):
		return fail(KindUnreachable, op, "the upload of %q failed", e.name)
	case f.Status != "uploaded", f.File.Meta.Parse.Status != "" && f.File.Meta.Parse.Status != "success":
		return fail(KindUnreachable, op, "the file %q is not there yet (%s, %s)", e.name, oneLine(f.Status, 40), oneLine(f.File.Meta.Parse.Status, 40))
	}
	return nil
}

// misspeltIn is misspelt for an object and the objects in it.
func misspeltIn(raw json.RawMessage, ours []string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for key, inner := range object {
		if slices.ContainsFunc(ours, func(one string) bool { return strings.EqualFold(key, one) }) && !slices.Contains(ours, key) {
			return key
		}
		if found := misspeltIn(inner, ours); found != "" {
			return found
		}
	}
	return ""
}
