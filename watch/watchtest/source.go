package watchtest

import "watcher/watch"

// NoEvents is a source that never says anything, for Config.Events: the agent
// then lives by its rescans and by Kick. Tests under testing/synctest need it,
// as a real source waits outside the bubble.
func NoEvents(func(dir, file string)) (watch.Source, error) { return silent{}, nil }

type silent struct{}

func (silent) Add(string) error { return nil }
func (silent) Remove(string)    {}
func (silent) Close()           {}
