package qwen

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Turn is what one read of a chat showed of our message and its answer.
// It is an alias of an unnamed struct, so that a caller with the same shape
// needs no conversion.
type Turn = struct {
	Empty       bool
	Message     string
	Asked       int64
	Fingerprint string
	Text        string
	Progress    int
	Done        bool
}

// turn finds our message and its answer in the chat. ours is our message's id
// if known; after is the assistant message that it follows in a continued
// chat. Trouble that the site noted at the answer is an error beside the turn.
func (c chat) turn(op, ours, after string) (Turn, error) {
	all, current, err := c.all(op)
	if err != nil {
		return Turn{}, err
	}
	asked, ok := findOurs(all, current, ours, after)
	if !ok {
		return Turn{Empty: c.complete() && nothingElse(c.Answers, after) && isEmpty(all, current, after)}, nil
	}
	t := Turn{Message: asked.ID, Asked: int64(asked.Time), Fingerprint: fingerprint(asked.text())}
	answer, ok := wholeAnswer(all, current, asked)
	if !ok {
		return t, nil
	}
	t.Text, t.Progress, t.Done = answer.answer(), answer.size(), answer.finished()
	switch {
	case answer.failed():
		return t, generationError(op, readTrouble(answer.Error))
	case answer.Stopped:
		return t, fail(KindGeneration, op, "the answer was stopped before its end")
	case answer.Done && answer.cutShort():
		return t, cutError(op)
	}
	return t, nil
}

// cutError is said of an answer that ends at the site's length limit.
func cutError(op string) *Error {
	e := fail(KindGeneration, op, "the site ended the answer at its length limit; its page offers to go on")
	e.Advice, e.More = adviceContinue, true
	return e
}

const adviceContinue = "press Continue in the chat in a browser, then delete this file and the whole is fetched"

// sourceList is the list of sources of our message's answer, as Markdown.
func (c chat) sourceList(op, ours, after string) string {
	all, current, err := c.all(op)
	if err != nil {
		return ""
	}
	asked, _ := findOurs(all, current, ours, after)
	answer, _ := wholeAnswer(all, current, asked)
	return answer.sourceList()
}

// generationError is what the site noted at an answer: the text was refused,
// or the answer failed.
func generationError(op string, e trouble) error {
	if strings.EqualFold(string(e.Code), "data_inspection_failed") {
		return fail(KindFiltered, op, "the site refuses the text: %s", e.text())
	}
	return fail(KindGeneration, op, "the site failed to answer: %s", e.text())
}

// isEmpty is positive evidence that our message isn't there.
func isEmpty(all map[string]message, current, after string) bool {
	if after == "" {
		return len(all) == 0 && current == ""
	}
	_, ok := all[after]
	return ok && current == after && isLast(all, after)
}

// findOurs returns our message: by its id, or as the one that follows after,
// or as the first of a chat that we made.
func findOurs(all map[string]message, current, ours, after string) (message, bool) {
	if m, ok := all[ours]; ok && ours != "" {
		return m, true
	}
	var candidates []message
	for _, m := range all {
		if m.Role == "user" && m.parent() == after {
			candidates = append(candidates, m)
		}
	}
	if len(candidates) == 0 {
		return message{}, false
	}
	return slices.MinFunc(candidates, func(a, b message) int {
		return cmp.Or(
			active(all, a.ID, current)-active(all, b.ID, current),
			cmp.Compare(a.Time, b.Time),
			strings.Compare(a.ID, b.ID))
	}), true
}

// active sorts what is on the active branch before what is not.
func active(all map[string]message, id, current string) int {
	if isAbove(all, id, current) {
		return 0
	}
	return 1
}

// wholeAnswer is the answer to our message with whatever goes on with it: the
// site may put that into a message of its own, under the one that it cut.
func wholeAnswer(all map[string]message, current string, asked message) (message, bool) {
	answer, ok := findAnswer(all, current, asked)
	at := answer
	for range all { // a circle ends, too
		if !ok || !at.Done || !at.cutShort() {
			break
		}
		next, more := findAnswer(all, current, at)
		if !more {
			break
		}
		answer, at = answer.followedBy(next), next
		answer.last = next.ID
	}
	return answer, ok
}

// findAnswer returns the answer to our message: the one on the active branch,
// else the first. An answer that goes on has its rest under it in the same way.
func findAnswer(all map[string]message, current string, asked message) (message, bool) {
	var answers []message
	for _, m := range all {
		if m.Role == "assistant" && m.parent() == asked.ID {
			answers = append(answers, m)
		}
	}
	if len(answers) == 0 {
		return message{}, false
	}
	return slices.MinFunc(answers, func(a, b message) int {
		return cmp.Or(
			active(all, a.ID, current)-active(all, b.ID, current),
			slices.Index(asked.Children, a.ID)-slices.Index(asked.Children, b.ID),
			strings.Compare(a.ID, b.ID))
	}), true
}

// isAbove reports whether id is current or one of its ancestors.
func isAbove(all map[string]message, id, current string) bool {
	for range len(all) + 1 {
		if current == "" {
			return false
		}
		if current == id {
			return true
		}
		current = all[current].parent()
	}
	return false
}

// fingerprint is the first 16 hex digits of a text's sha256.
func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
