package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/rs/zerolog"
)

// journalWriter takes log lines in JSON and gives them to the systemd journal
// with their level as its priority, and each of their fields as one of its own:
// job becomes WATCHER_JOB. The message is what the console would show.
type journalWriter struct {
	send func(message string, priority journal.Priority, fields map[string]string) error
}

// inJournal reports whether standard error is the journal: its stream's device
// and inode stand in JOURNAL_STREAM then.
func inJournal() bool {
	is, err := journal.StderrIsJournalStream()
	return err == nil && is && journal.Enabled()
}

// Write sends one line.
func (w journalWriter) Write(line []byte) (int, error) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return 0, err
	}
	level, _ := fields[zerolog.LevelFieldName].(string)
	if err := w.send(consoleText(line), priority(level), journalFields(fields)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// journalFields are a line's fields by the names that the journal allows.
func journalFields(line map[string]any) map[string]string {
	fields := map[string]string{"SYSLOG_IDENTIFIER": "watcher"}
	for key, value := range line {
		switch key {
		case zerolog.LevelFieldName, zerolog.TimestampFieldName, zerolog.MessageFieldName:
			continue // the journal has its own
		}
		fields["WATCHER_"+strings.ToUpper(key)] = fmt.Sprint(value)
	}
	return fields
}

// consoleText is a line as the console shows it, without time and level.
func consoleText(line []byte) string {
	var b bytes.Buffer
	w := zerolog.ConsoleWriter{Out: &b, NoColor: true, PartsExclude: []string{zerolog.TimestampFieldName, zerolog.LevelFieldName}}
	if _, err := w.Write(line); err != nil {
		return string(line)
	}
	return strings.TrimSpace(b.String())
}

func priority(level string) journal.Priority {
	switch level {
	case zerolog.LevelDebugValue, zerolog.LevelTraceValue:
		return journal.PriDebug
	case zerolog.LevelInfoValue:
		return journal.PriInfo
	case zerolog.LevelWarnValue:
		return journal.PriWarning
	}
	return journal.PriErr
}
