package qwentest

import (
	"strconv"
	"strings"
	"time"
)

// directivePrefix begins the lines of a prompt that speak to the site.
const directivePrefix = "!rehearsal "

// directives are the wishes written in a prompt. Keys: answer; fault with n,
// delay, times, skip, reused, take, on of the same line; page (read by the
// page itself). Unknown keys are ignored.
type directives struct {
	answer string
	faults []Fault
}

func parseDirectives(prompt string) directives {
	var d directives
	if !strings.Contains(prompt, directivePrefix) {
		return d
	}
	for line := range strings.Lines(prompt) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), directivePrefix)
		if !ok {
			continue
		}
		var f Fault
		for _, field := range strings.Fields(rest) {
			key, value, _ := strings.Cut(field, "=")
			if key == "answer" {
				d.answer = value
				continue
			}
			f.set(key, value)
		}
		if f.Kind != "" {
			d.faults = append(d.faults, f)
		}
	}
	return d
}

func (f *Fault) set(key, value string) {
	number, _ := strconv.Atoi(value)
	switch key {
	case "fault":
		f.Kind = Kind(value)
	case "n":
		f.N = number
	case "times":
		f.Times = number
	case "skip":
		f.Skip = number
	case "delay":
		f.Delay, _ = time.ParseDuration(value)
	case "on":
		f.On = value
	case "reused":
		f.Reused = value != "false" && value != "0"
	case "take":
		f.Take = value != "false" && value != "0"
	}
}

// wished gives the faults that the prompt's own directives ask for at this
// endpoint. Each is counted per prompt, so that by default it strikes once.
func (s *Site) wished(on, prompt string, reused bool) faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out faults
	for i, f := range parseDirectives(prompt).faults {
		if where := f.on(); where != on && where != OnAny || f.Reused && !reused || f.early() {
			continue
		}
		key := Sum(prompt) + "/" + on + "/" + strconv.Itoa(i)
		s.wishes[key]++
		used := s.wishes[key] - f.Skip
		times := max(f.Times, 1)
		if used < 1 || f.Times != Always && used > times {
			continue
		}
		out = append(out, f)
	}
	return out
}
