package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is who may import whom. A folder's own tests may do more, as they
// bring two rooms together; what ships may not.
var mayImport = map[string]struct {
	ours   []string // packages of this module
	others []string // beginnings of other modules' paths; nil allows any
}{
	"state":                   {nil, []string{"golang.org/x/sys/"}},
	"watch":                   {[]string{"watcher/state", "watcher/watch/frontmatter"}, []string{"github.com/fsnotify/fsnotify", "github.com/rs/zerolog", "golang.org/x/sys/"}},
	"watch/frontmatter":       {nil, []string{"github.com/goccy/go-yaml/"}},
	"watch/watchtest":         {[]string{"watcher/state", "watcher/watch"}, nil},
	"qwen":                    {nil, nil},
	"qwen/qwentest":           {nil, nil},
	"qwen/qwentest/rehearsal": {[]string{"watcher/qwen/qwentest"}, nil},
	"router":                  {nil, []string{"github.com/openai/openai-go/v3"}},
	"router/routertest":       {nil, []string{}},
	"cmd/watcher/lab":         {nil, nil},
	"cmd/watcher":             {[]string{"watcher/state", "watcher/watch", "watcher/watch/frontmatter", "watcher/qwen", "watcher/router"}, nil},
}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	for folder, may := range mayImport {
		for _, path := range importsOf(t, filepath.Join(root, folder)) {
			first, _, _ := strings.Cut(path, "/")
			switch {
			case first == "watcher":
				if !slices.Contains(may.ours, path) {
					t.Errorf("%s imports %s", folder, path)
				}
			case strings.Contains(first, ".") && may.others != nil:
				if !slices.ContainsFunc(may.others, func(p string) bool { return strings.HasPrefix(path, p) }) {
					t.Errorf("%s imports %s", folder, path)
				}
			}
		}
	}
	// The driver is the only one that knows the browser library.
	for _, folder := range []string{"state", "watch", "cmd/watcher"} {
		for _, path := range importsOf(t, filepath.Join(root, folder)) {
			if strings.HasPrefix(path, "github.com/chromedp/") {
				t.Errorf("%s imports %s", folder, path)
			}
		}
	}
}

// importsOf lists what the Go files of a folder import, tests left out.
func importsOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	var list []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, path)
		}
	}
	return list
}

// TestEveryFolderIsListed: a new package needs a line in the table.
func TestEveryFolderIsListed(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != root:
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if _, ok := mayImport[filepath.ToSlash(folder)]; !ok {
			t.Errorf("%s is not in the table of imports", folder)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
