package state

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A sync or a close that failed is never repeated: the second one would report
// success over data that is lost. The operation fails with the first.
func TestFailedSync(t *testing.T) {
	found := map[string]string{"x.prompt": "hi", "x.md.url": first.String()}
	all := append(slices.Clone(operations),
		operation{name: "believe", before: found, run: func(d *Dir) error { _, err := d.Believe("x"); return err }},
		operation{name: "read prompt", before: found, run: func(d *Dir) error { _, err := d.ReadPrompt("x"); return err }})
	syncs := map[string]int{}
	for _, op := range all {
		for _, step := range []string{StepReserve, StepSync, StepClose, StepFolder, StepBelieve} {
			failed, again := 0, 0
			err := op.run(open(t, op.folder(t), ownerA, WithStep(func(s string) error {
				switch {
				case s != step:
					return nil
				case failed > 0:
					again++
					return nil
				}
				failed++
				return unix.EIO
			})))
			syncs[op.name] += failed
			if failed > 0 && err == nil || again > 0 {
				t.Errorf("%s: %s failed, and was tried %d times more: %v", op.name, step, again, err)
			}
		}
	}
	// The name and the content of what is built on.
	if syncs["believe"] != 2 || syncs["read prompt"] != 1 {
		t.Errorf("what was found is not made durable: %v", syncs)
	}
}
