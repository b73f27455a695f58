package qwentest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sum returns the sha256 of a prompt's text in hexadecimal, the name under
// which the ledger knows it.
func Sum(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:])
}

// Answer returns what the site answers to a prompt, to the byte: a pure
// function of the text. Except for one-char and empty it begins with a line
// that holds the prompt's [Sum] and ends with a line "END <sum>" without a
// newline after it. A line "!rehearsal answer=NAME" in the prompt chooses
// another one: short, long (20 kB), 200k, one-char, table, code, quotes
// (an answer about the site's own error texts), think (literal <think> tags),
// blank (white space at both ends), search (marks of a search's sources, which
// are a part of their own), image (an image at [ImageURL], a part of its own).
func Answer(prompt string) string {
	sum := Sum(prompt)
	head := "Answer to prompt " + sum + "\n\n"
	tail := "\n\nEND " + sum
	switch parseDirectives(prompt).answer {
	case "one-char":
		return "7"
	case "short":
		return head + "Yes." + tail
	case "long":
		return head + numbered(sum, 20_000) + tail
	case "200k":
		return head + numbered(sum, 200_000) + tail
	case "table":
		return head + sampleTable + tail
	case "code":
		return head + sampleCode + tail
	case "quotes":
		return head + sampleQuotes + tail
	case "think":
		return head + sampleThink + tail
	case "search":
		return head + "The first page says so[[1]], the second does not[[2]][[1]]." + tail
	case "blank":
		return head + "  two spaces before, and a hard break after  \nnext line\n\n\tan indented line\n" + tail
	}
	return head + about(prompt) + "\n\n" + sample + tail
}

// ImageURL is the address of the image that comes with answer=image.
const ImageURL = "https://cdn.qwenlm.ai/output/u/t2i/r/image.png?key=k.e.y"

// Whole reads an answer: the sum of the prompt that it belongs to, and
// whether it has both its first and its last line. Answers without those
// lines give an empty sum.
func Whole(answer string) (promptSum string, whole bool) {
	rest, ok := strings.CutPrefix(answer, "Answer to prompt ")
	if !ok || len(rest) < 64 {
		return "", false
	}
	promptSum = rest[:64]
	return promptSum, strings.HasSuffix(answer, "\n\nEND "+promptSum)
}

func about(prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if runes := []rune(first); len(runes) > 60 {
		first = string(runes[:60]) + "…"
	}
	return fmt.Sprintf("The prompt has %d characters in %d lines and begins:\n\n> %s",
		utf8.RuneCountInString(prompt), strings.Count(prompt, "\n")+1, first)
}

// numbered gives lines that show by themselves when one is missing.
func numbered(sum string, size int) string {
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%06d %s a line of a long answer, naïve café, 数独, %d squared is %d.\n", i, sum[:8], i, i*i)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const sampleTable = "| Town | Metres | Note |\n|:--|--:|:-:|\n| Ålesund | 12 | pipes \\| inside |\n| 大阪 | 3 | `a b` |\n| Łódź | 219 | **bold** |"

const sampleCode = "````markdown\nA fence with backticks inside:\n\n```go\nfmt.Println(\"`tick`\")\n```\n````\n\n    indented code stays\n\nInline `` a`b `` ends it."

const sampleQuotes = "The words *The chat is in progress!* and *Something went wrong* are shown when a chat is busy.\n\n" +
	"> Oops! There was an issue connecting to Qwen3.8-Max\n\nA reader must not take them for an error: " +
	"`{\"ret\":[\"FAIL_SYS_USER_VALIDATE\"]}` and \"server is busy, try again\" are only quoted here. 服务繁忙，请稍后重试"

const sampleThink = "The tags are written literally:\n\n```\n<think>\nnot a thought\n</think>\n```\n\n<think>also literal</think> and the answer goes on."

const sample = "## A heading\n\n" + sampleTable + "\n\n1. first\n   - nested *one*\n     - nested two\n   - nested three\n2. second\n\n" +
	sampleCode + "\n\nMath: $e^{i\\pi}+1=0$ and\n\n$$\n\\int_0^1 x^2\\,dx = \\tfrac{1}{3}\n$$\n\n" +
	"> A quote of two lines,\n> with [a link](https://example.org/?a=1&b=2) and an emoji 👨‍👩‍👧.\n\n" +
	"Line with trailing double space  \nand a backslash \\_ here. Ünïcödé, русский, 中文, עברית, zero\u200bwidth."
