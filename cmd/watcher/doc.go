// Command watcher turns a folder into an outbox for a web chat: drop
// name.prompt in it, get name.md. See the README for the files it keeps and
// for its exit codes.
//
// This package holds what a command line needs and nothing else: flags,
// wiring, output and exit codes. The folder's protocol is in package state,
// the schedule in package watch, the site in package qwen.
//
// Rules of output: results go to standard output, one line a file (or one JSON
// object a line with --json); everything else, errors, log lines and the live
// line of a terminal, goes to standard error.
package main
