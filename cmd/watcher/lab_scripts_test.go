//go:build crash

package main

import "testing"

// TestLongScripts are the sessions that take the browser long.
func TestLongScripts(t *testing.T) { runScripts(t, "testdata/long") }
