package watch

// SetMountOf lets a test say where a path's file system is mounted.
func (c *Config) SetMountOf(f func(path string) string) { c.mountOf = f }

// Every is -every, for the tests outside the package.
var Every = every
