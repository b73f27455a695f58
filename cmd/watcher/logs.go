package main

import (
	"bytes"
	"io"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/rs/zerolog"
)

// The forms of the log.
const (
	logAuto    = "auto" // the journal's where standard error is the journal, else console
	logConsole = "console"
	logJSON    = "json"
)

// logs is the log of one command that works on its own for a while: where it
// goes, and the live line of a terminal.
type logs struct {
	zerolog.Logger
	live   *live
	queues []*logQueue
	file   *logFile // nil without --log-file
}

// openLog begins the log of a command. level is what it shows unless a flag
// says otherwise.
func (a *app) openLog(level zerolog.Level) (*logs, error) {
	l := &logs{}
	if a.set.logFile != "" {
		file, err := openLogFile(a.set.logFile)
		if err != nil {
			return nil, err
		}
		l.file = file
	}
	screen := l.start(a.stderr, a.set.lostNote)
	l.live = a.newLive(screen)
	var out io.Writer = l.live
	switch {
	case l.file != nil:
		out = l.start(l.file, a.set.lostNote)
	case a.set.logFormat == logAuto && a.stderr == io.Writer(os.Stderr) && inJournal():
		q := l.start(journalWriter{journal.Send}, jsonNote)
		l.Logger = a.set.logger(nil, level).Output(q)
		return l, nil
	}
	l.Logger = a.set.logger(out, level)
	return l, nil
}

func (l *logs) start(out io.Writer, note func(int64) []byte) *logQueue {
	q := startQueue(out, note)
	l.queues = append(l.queues, q)
	return q
}

// reopen opens the log file anew, if there is one.
func (l *logs) reopen() {
	if l.file == nil {
		return
	}
	if err := l.file.reopen(); err != nil {
		l.Warn().Err(err).Msg("cannot open the log file again; going on with the old one")
		return
	}
	l.Info().Str("file", l.file.path).Msg("log file opened again")
}

// close removes the live line and writes what is left.
func (l *logs) close() {
	l.live.clear()
	for _, q := range l.queues {
		q.close()
	}
	if l.file != nil {
		l.file.close()
	}
}

// logger is a log in the form that was asked for.
func (s *settings) logger(w io.Writer, level zerolog.Level) zerolog.Logger {
	if s.logLevel != "" {
		level, _ = zerolog.ParseLevel(s.logLevel) // checked in finish
	}
	if s.quiet {
		level = zerolog.ErrorLevel
	}
	if s.logFormat != logJSON {
		w = zerolog.ConsoleWriter{Out: w, NoColor: !terminal(w), TimeFormat: time.DateTime}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// lostNote is the line about lines that could not be written.
func (s *settings) lostNote(n int64) []byte {
	return noteOf(n, func(b io.Writer) zerolog.Logger { return s.logger(b, zerolog.InfoLevel) })
}

func jsonNote(n int64) []byte {
	return noteOf(n, func(b io.Writer) zerolog.Logger { return zerolog.New(b) })
}

func noteOf(n int64, logger func(io.Writer) zerolog.Logger) []byte {
	var b bytes.Buffer
	log := logger(&b)
	log.WithLevel(zerolog.ErrorLevel).Int64("count", n).Msg("log lines were lost: they could not be written")
	return b.Bytes()
}
