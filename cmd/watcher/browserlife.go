package main

import (
	"time"

	"github.com/spf13/pflag"

	"watcher/qwen"
)

// browserLife are the flags that bound how a browser is used over months.
type browserLife struct {
	idle, age time.Duration
	jobs      int
	megabytes int64
}

func (l *browserLife) register(f *pflag.FlagSet) {
	d := qwen.DefaultLife()
	f.DurationVar(&l.idle, "browser-idle", d.Idle, "close the browser when nothing needed it for so long; 0: never")
	f.IntVar(&l.jobs, "browser-jobs", d.Jobs, "replace the browser after so many sends; 0: never")
	f.DurationVar(&l.age, "browser-age", d.Age, "replace the browser after so long; 0: never")
	f.Int64Var(&l.megabytes, "browser-memory", d.Memory>>20, "replace the browser when it uses more megabytes; 0: never")
}

// check refuses what can be no bound.
func (l *browserLife) check() error {
	switch {
	case l.idle < 0:
		return usagef("--browser-idle %v: 0 means never", l.idle)
	case l.jobs < 0:
		return usagef("--browser-jobs %d: 0 means never", l.jobs)
	case l.age < 0:
		return usagef("--browser-age %v: 0 means never", l.age)
	case l.megabytes < 0:
		return usagef("--browser-memory %d: 0 means never", l.megabytes)
	}
	return nil
}

// bounds are the same as the driver takes them.
func (l *browserLife) bounds() qwen.Life {
	return qwen.Life{Idle: l.idle, Jobs: l.jobs, Age: l.age, Memory: l.megabytes << 20}
}
