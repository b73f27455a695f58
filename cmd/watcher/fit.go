package main

import (
	"fmt"
	"strings"
	"unicode"
)

// fitScreen cuts a text into lines that a terminal of this size holds. Bytes that a
// terminal would obey, such as a file's name may hold, are shown as '?'. Wide
// characters may still reach over the edge, where the terminal cuts them.
func fitScreen(text string, width, height int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if over := len(lines) - height; over > 0 {
		lines = append(lines[:max(height-1, 0)], fmt.Sprintf("… and %d lines more", over+1))
	}
	for i, line := range lines {
		runes := []rune(strings.Map(shown, line))
		if len(runes) > width {
			runes = append(runes[:max(width-1, 0)], '…')
		}
		lines[i] = string(runes)
	}
	return lines
}

// shown is the character that stands for one in a terminal.
func shown(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
