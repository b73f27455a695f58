// Package lab holds the instruments of the crash laboratory: a tracer that
// stops a program at each of its system calls, file systems whose power can be
// cut, and a disk that remembers every write. They are for tests only, need
// Linux and, the disks, root.
//
// What is tried with them, and what must hold, stands in the tests of
// cmd/watcher that are built with the tag "crash".
package lab
