//go:build crash

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// longest are the samples of the program that was looked at most often.
func (m *sampler) longest() (list []soakSample) {
	lives := map[float64][]soakSample{}
	for _, x := range m.samples {
		lives[x["life"]] = append(lives[x["life"]], x)
	}
	for _, l := range lives {
		if len(l) > len(list) {
			list = l
		}
	}
	return list
}

// quarter is the median of a column in the nth quarter, from 1, of the samples.
func quarter(list []soakSample, column string, nth int) float64 {
	var seen []float64
	for _, x := range list[len(list)*(nth-1)/4 : len(list)*nth/4] {
		if v := x[column]; !math.IsNaN(v) {
			seen = append(seen, v)
		}
	}
	if len(seen) == 0 {
		return math.NaN()
	}
	slices.SortFunc(seen, cmp.Compare[float64])
	return seen[len(seen)/2]
}

// soakSlack is by how much each column may grow beside by half, from the second
// to the last quarter of a program's life.
var soakSlack = map[string]float64{"program_rss": 30, "program_fds": 20, "program_threads": 20, "goroutines": 40, "profile_files": 200}

// grown lists what is larger at the end of the longest life than it should be.
func (m *sampler) grown() (wrong []string) {
	list := m.longest()
	if len(list) < 8 {
		return []string{fmt.Sprintf("the longest program was looked at %d times, too few to tell whether it grows", len(list))}
	}
	for column, slack := range soakSlack {
		early, late := quarter(list, column, 2), quarter(list, column, 4)
		if !(late <= 1.5*early+slack) { // also if one could not be seen
			wrong = append(wrong, fmt.Sprintf("%s grows from %.1f to %.1f", column, early, late))
		}
	}
	return wrong
}

// summary tells of each column what it was in the longest life, and at most.
func (m *sampler) summary() string {
	var out strings.Builder
	list := m.longest()
	if len(list) < 4 {
		return "too few samples"
	}
	fmt.Fprintf(&out, "%d samples, %d of the longest life (%.0f s)\n", len(m.samples), len(list), list[len(list)-1]["seconds"]-list[0]["seconds"])
	for _, c := range soakColumns[2:11] {
		most := 0.0
		for _, x := range m.samples {
			if x[c] > most { // NaN is not
				most = x[c]
			}
		}
		fmt.Fprintf(&out, "%-18s second quarter %.1f, last quarter %.1f, at most %.1f\n", c, quarter(list, c, 2), quarter(list, c, 4), most)
	}
	return out.String()
}

// TestSoakSeesGrowth: what grows is named, what cannot be seen too, and nothing
// of what only goes up and down.
func TestSoakSeesGrowth(t *testing.T) {
	life := func(value func(i int) float64) *sampler {
		m := &sampler{}
		for i := range 100 {
			x := soakSample{"life": 1}
			for column := range soakSlack {
				x[column] = 10 + float64(i%3)
			}
			x["program_fds"] = value(i)
			m.samples = append(m.samples, x)
		}
		return m
	}
	for name, c := range map[string]struct {
		value func(i int) float64
		want  int
	}{
		"up and down": {func(i int) float64 { return 20 + 8*float64(i%2) }, 0},
		"grows":       {func(i int) float64 { return 20 + float64(i) }, 1},
		"not seen":    {func(int) float64 { return math.NaN() }, 1},
	} {
		if wrong := life(c.value).grown(); len(wrong) != c.want || c.want > 0 && !strings.Contains(wrong[0], "program_fds") {
			t.Errorf("%s: %v", name, wrong)
		}
	}
	if wrong := (&sampler{}).grown(); len(wrong) != 1 {
		t.Errorf("no samples at all: %v", wrong)
	}
}
