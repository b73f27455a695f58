//go:build man

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// The man pages are made of the commands' own help by a program that only the
// build runs:
//
//	go run -tags man ./cmd/watcher man FOLDER
func init() { buildCommands = append(buildCommands, (*app).manCommand) }

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the man pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(c *cobra.Command, args []string) error { return writeMan(c.Root(), args[0]) },
	}
}

// keepTables makes the indented lines of the commands' help what Markdown keeps as
// it is.
func keepTables(c *cobra.Command) {
	c.Long = strings.ReplaceAll("\n"+c.Long, "\n  ", "\n      ")[1:]
	for _, sub := range c.Commands() {
		keepTables(sub)
	}
}

//go:embed manual.md
var manual []byte

// writeMan writes a page for each command; that of the program itself has the
// manual's sections before its last one, SEE ALSO.
func writeMan(root *cobra.Command, folder string) error {
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	keepTables(root)
	header := &doc.GenManHeader{Section: "1", Source: "watcher " + versionText(), Manual: "User Commands"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		return err
	}
	path := filepath.Join(folder, "watcher.1")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, after, ok := bytes.Cut(page, []byte(".SH SEE ALSO"))
	if !ok {
		return fmt.Errorf("%s has no section SEE ALSO", path)
	}
	_, sections, ok := bytes.Cut(md2man.Render(manual), []byte(".SH"))
	if !ok {
		return fmt.Errorf("the manual has no sections")
	}
	page = bytes.Join([][]byte{before, []byte(".SH"), sections, []byte("\n.SH SEE ALSO"), after}, nil)
	return os.WriteFile(path, page, 0o644)
}
