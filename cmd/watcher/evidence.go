package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"watcher/qwen"
)

func (a *app) evidenceCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "evidence",
		Short: "List what the page showed when it was not understood",
		Long: `evidence lists the folders in which the program keeps what the site's page showed
when it had changed or asked for a person, and prints the last one's report. Each
holds a picture of the page, its HTML, the last replies of the site, the page's
console and the browser's log; texts, tokens, cookies and addresses are left out.
The last twenty are kept. Nothing is started or sent.`,
		Example: "  watcher evidence\n  watcher evidence --json",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.evidence(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each folder")
	return c
}

// evidenceLine is one folder with --json. The names are stable.
type evidenceLine struct {
	Path  string    `json:"path"`
	When  time.Time `json:"when"`
	Class string    `json:"class"`
	Error string    `json:"error"`
	Bytes int64     `json:"bytes"`
}

// evidence lists the folders, the newest last, and its report.
func (a *app) evidence(asJSON bool) error {
	dir := evidenceDir()
	list, err := qwen.ListEvidence(dir)
	if err != nil {
		return err
	}
	if len(list) == 0 && !asJSON {
		_, err := fmt.Fprintf(a.stdout, "none is kept (in %s)\n", dir)
		return err
	}
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		if asJSON {
			b, _ := json.Marshal(evidenceLine(e)) // texts and numbers: can't fail
			_, err = fmt.Fprintf(a.stdout, "%s\n", b)
		} else {
			_, err = fmt.Fprintf(a.stdout, "%s  %-12s %5d kB  %s\n", e.When.Local().Format(time.DateTime), e.Class, (e.Bytes+999)/1000, e.Error)
		}
		if err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	report, err := os.ReadFile(filepath.Join(list[0].Path, "report.txt"))
	if err != nil {
		return fmt.Errorf("read the last report: %w", err)
	}
	files, err := os.ReadDir(list[0].Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nthe last one, %s:\n\n%s\n", list[0].Path, report)
	for _, f := range files {
		fmt.Fprintln(a.stdout, "  "+filepath.Join(list[0].Path, f.Name()))
	}
	return nil
}
