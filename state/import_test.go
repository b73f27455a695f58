package state

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The package stands on the standard library and x/sys alone.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		must(t, err)
		for _, spec := range f.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			first, _, _ := strings.Cut(path, "/")
			if path != "golang.org/x/sys/unix" && (strings.Contains(first, ".") || first == "watcher") {
				t.Errorf("%s imports %s", file, path)
			}
			if path == "log" || path == "log/slog" {
				t.Errorf("%s logs", file)
			}
			seen++
		}
	}
	if seen == 0 {
		t.Error("no imports seen")
	}
}
