//go:build crash

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// TestMutations breaks the program on purpose, in one place after the other,
// and demands that the test that watches over that place fails. Nothing in the
// working tree is changed: the compiler is given another file in its place.
//
//	go test -tags crash ./cmd/watcher -run TestMutations -v
//	go test -tags crash ./cmd/watcher -run 'TestMutations/folder_fsync' -v
func TestMutations(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	green := map[string]error{} // the tests, without a mutation
	var table strings.Builder
	rows := tabwriter.NewWriter(&table, 0, 0, 1, ' ', 0)
	fmt.Fprint(rows, "| mutation\t| file\t| test\t| result\t| seconds |\n|---\t|---\t|---\t|---\t|---|\n")
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			overlay := m.overlay(t, root)
			err, known := green[m.pkg+m.test]
			if !known {
				err = expectGreen(goTest(t, root, m, ""))
				green[m.pkg+m.test] = err
			}
			if err != nil {
				t.Fatalf("without the mutation: %v", err)
			}
			began, result := time.Now(), "red"
			if err := expectRed(goTest(t, root, m, overlay)); err != nil {
				result = "NOT RED"
				t.Error(err)
			}
			fmt.Fprintf(rows, "| %s\t| %s\t| %s %s\t| %s\t| %.0f |\n", m.name, m.file, m.pkg, strings.ReplaceAll(m.test, "|", `\|`), result, time.Since(began).Seconds())
		})
	}
	rows.Flush()
	t.Logf("\n%s", &table)
}

// TestMutationsFit demands that each mutation still finds its place.
func TestMutationsFit(t *testing.T) {
	for _, m := range mutations {
		m.overlay(t, filepath.Join("..", ".."))
	}
}

// mutation is one way to break the program.
type mutation struct {
	name      string
	file      string   // from the module's root
	edits     []string // old, new, old, new: each old text stands in the file exactly once
	pkg, test string   // what must fail
}

// overlay writes the mutated file, and the file that tells the compiler of it.
func (m mutation) overlay(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(root, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for i := 0; i < len(m.edits); i += 2 {
		if n := strings.Count(text, m.edits[i]); n != 1 {
			t.Fatalf("the mutation no longer fits: this stands in %s %d times:\n%s", m.file, n, m.edits[i])
		}
		text = strings.Replace(text, m.edits[i], m.edits[i+1], 1)
	}
	dir := t.TempDir()
	mutated, overlay := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{mutated: []byte(text), overlay: replace} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// mutantLimit bounds one run: a mutant may well hang.
const mutantLimit = 4 * time.Minute

// goTest runs a mutation's test and gives its output and its error.
func goTest(t *testing.T, root string, m mutation, overlay string) (string, error) {
	t.Helper()
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-timeout", (mutantLimit - time.Minute).String(), "-run", m.test}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	ctx, cancel := context.WithTimeout(t.Context(), mutantLimit)
	defer cancel()
	// Random tests must not keep what they found beside the source.
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+m.pkg, "-args", "-rapid.nofailfile")...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: |^panic: |^fatal error: `)
	notBuilt   = regexp.MustCompile(`\[(build|setup) failed\]`)
)

func expectGreen(out string, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w:\n%s", err, out)
	case strings.Contains(out, "no tests to run"):
		return fmt.Errorf("no such test:\n%s", out)
	}
	return nil
}

// expectRed demands that a test failed, not the compiler.
func expectRed(out string, err error) error {
	switch {
	case notBuilt.MatchString(out):
		return fmt.Errorf("the mutation does not compile:\n%s", out)
	case err == nil:
		return fmt.Errorf("nothing noticed it:\n%s", out)
	case !failedTest.MatchString(out):
		return fmt.Errorf("no test failed, and yet %w:\n%s", err, out)
	}
	return nil
}
