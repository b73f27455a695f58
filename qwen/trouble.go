package qwen

import (
	"encoding/json"
	"strings"
	"time"
)

// trouble is the part of an envelope that says what is wrong.
type trouble struct {
	Code    word            `json:"code"`
	Details json.RawMessage `json:"details"`
	Message word            `json:"message"`
	Hours   float64         `json:"num"` // with RateLimited: hours to wait
	Status  *bool           `json:"status"`
}

// text is what the trouble says, in one line.
func (t trouble) text() string {
	var s string
	if json.Unmarshal(t.Details, &s) != nil {
		s = string(t.Details)
	}
	for _, part := range []string{string(t.Message), string(t.Code)} {
		if part != "" && !strings.Contains(s, part) {
			s = strings.TrimSpace(part + " " + s)
		}
	}
	return oneLine(s, 200)
}

// trouble finds the part that says what is wrong, wherever it stands.
func (e envelope) trouble() (trouble, bool) {
	for _, raw := range []json.RawMessage{e.Error, e.Errors} {
		if says(raw) {
			return readTrouble(raw), true
		}
	}
	var t trouble
	understood := json.Unmarshal(e.Data, &t) == nil
	switch {
	case e.Success == nil:
	case !*e.Success:
		if !understood || (t.Code == "" && t.Message == "" && t.Details == nil) {
			t = trouble{Code: e.Code, Message: e.Message}
		}
		return t, true
	case understood && t.Status != nil && !*t.Status:
		return t, true
	}
	return trouble{}, false
}

// says reports whether an error field holds anything.
func says(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "false", `""`, "[]", "{}":
		return false
	}
	return true
}

// readTrouble reads an error field: an object, a list of them, or a text.
func readTrouble(raw json.RawMessage) trouble {
	var t trouble
	if json.Unmarshal(raw, &t) == nil {
		return t
	}
	var list []trouble
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0]
	}
	var w word
	_ = json.Unmarshal(raw, &w)
	return trouble{Message: w}
}

// check turns what the site says into a class.
func (t trouble) check(op string, now time.Time) error {
	said := t.text()
	low := strings.ToLower(said)
	code := strings.ToLower(string(t.Code))
	switch {
	case code == "ratelimited" || code == "rate_limited":
		e := fail(KindQuota, op, "the site says: %s", said)
		if t.Hours > 0 {
			e.When = now.Add(time.Duration(t.Hours * float64(time.Hour)))
		}
		return e
	case code == "quota_limit" || strings.Contains(low, "quota exceeded"):
		return fail(KindQuota, op, "the site says: %s", said)
	case code == "not_found":
		return fail(KindGone, op, "the site says: %s", said)
	case code == "unauthorized" || code == "401" || code == "authenticationfailed" || code == "tokenexpired":
		return fail(KindLogin, op, "the site says: %s", said)
	case code == "data_inspection_failed":
		return fail(KindFiltered, op, "the site refuses the text: %s", said)
	case code == "chat_in_progress" || strings.Contains(low, "chat is in progress"):
		return fail(KindUnreachable, op, "the chat is busy: %s", said)
	case strings.Contains(low, "request is ended") || strings.Contains(low, "request is finished"):
		return fail(KindGeneration, op, "the site says: %s", said)
	case code == "internal_error" || busyWords(low):
		return fail(KindUnreachable, op, "the site is overloaded: %s", said)
	}
	return fail(KindSiteChanged, op, "the site refuses and the reason isn't known: %s", firstOf(said, "none given"))
}

// busyWords recognises an overloaded server in an error's text (never in an
// answer's).
func busyWords(low string) bool {
	for _, words := range []string{"service busy", "server is busy", "too many visits", "overload", "try again later"} {
		if strings.Contains(low, words) {
			return true
		}
	}
	return false
}
