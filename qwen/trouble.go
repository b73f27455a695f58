package qwen

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// trouble is the part of an envelope that says what is wrong.
type trouble struct {
	Code    word            `json:"code"`
	Details json.RawMessage `json:"details"`
	Message word            `json:"message"`
	Hours   word            `json:"num"`    // with RateLimited: hours to wait
	Status  word            `json:"status"` // "false": refused, though it is a success
}

// wait is how long the site says to wait; 0 if it doesn't, or no time that
// could be meant.
func (t trouble) wait() time.Duration {
	hours, err := strconv.ParseFloat(strings.TrimSpace(string(t.Hours)), 64)
	if err != nil || !(hours > 0 && hours <= maxHours) {
		return 0
	}
	return time.Duration(hours * float64(time.Hour))
}

// maxHours is the longest wait that is believed: the site's limits are a day's.
const maxHours = 31 * 24

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

// none reports whether nothing is said.
func (t trouble) none() bool {
	return t.Code == "" && t.Message == "" && !says(t.Details)
}

// trouble finds the part that says what is wrong, wherever it stands: under
// error, errors or data, there perhaps in another such field, or beside them.
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
		if t = readTrouble(e.Data); t.none() {
			t = trouble{Code: e.Code, Message: e.Message}
		}
		return t, true
	case understood && t.Status == "false":
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

// readTrouble reads an error field: an object, a list of them, a text, or an
// object with such a field.
func readTrouble(raw json.RawMessage) trouble {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		if len(list) == 0 {
			return trouble{}
		}
		return readTrouble(list[0])
	}
	var object struct {
		trouble
		Error  json.RawMessage `json:"error"`
		Errors json.RawMessage `json:"errors"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &object) != nil {
		var w word
		_ = json.Unmarshal(raw, &w)
		return trouble{Message: w}
	}
	if !object.none() {
		return object.trouble
	}
	for _, inner := range []json.RawMessage{object.Error, object.Errors, object.Data} {
		if says(inner) {
			return readTrouble(inner)
		}
	}
	return trouble{}
}

// check turns what the site says into a class.
func (t trouble) check(op string, now time.Time) error {
	said := t.text()
	low := strings.ToLower(said)
	code := strings.ToLower(string(t.Code))
	switch {
	case code == "ratelimited" || code == "rate_limited" || strings.Contains(low, "upper limit for today"):
		e := fail(KindQuota, op, "the site says: %s", said)
		if wait := t.wait(); wait > 0 {
			e.When = now.Add(wait)
		}
		return e
	case code == "quota_limit" || strings.Contains(low, "quota exceeded"):
		return fail(KindQuota, op, "the site says: %s", said)
	case code == "not_found" && strings.Contains(low, "model not found"):
		e := fail(KindSiteChanged, op, "the site says: %s", said)
		e.Advice = "the account has no such model: choose another with --model"
		return e
	case code == "not_found":
		return fail(KindGone, op, "the site says: %s", said)
	case code == "unauthorized" || code == "401" || code == "authenticationfailed" || code == "tokenexpired":
		return fail(KindLogin, op, "the site says: %s", said)
	case code == "data_inspection_failed":
		return fail(KindFiltered, op, "the site refuses the text: %s", said)
	case code == "chat_in_progress" || strings.Contains(low, "chat is in progress"):
		return busy(op, "the chat is busy: %s", said)
	case strings.Contains(low, "request is ended") || strings.Contains(low, "request is finished"):
		return fail(KindGeneration, op, "the site says: %s", said)
	case code == "internal_error" || busyWords(low):
		return busy(op, "the site is overloaded: %s", said)
	}
	return fail(KindSiteChanged, op, "%s: %s", refusalOf(code, low), firstOf(said, "no reason is given"))
}

// busy is trouble that passes, of a site that is in reach.
func busy(op, format, said string) error {
	e := fail(KindUnreachable, op, format, said)
	e.Advice = "nothing is to be done: the program tries again by itself"
	return e
}

// refusalOf is what a refusal means that speaks of the request itself: the page
// made it, so the page, or how it was used, is not as the site wants it.
func refusalOf(code, low string) string {
	switch {
	case code == "requestvalidationerror":
		return "the site doesn't understand the page's request"
	case code == "invalid_input":
		return "the site doesn't take what the page chose (model, thinking, search)"
	case strings.Contains(low, "too many messages"):
		return "the site wants one message and the page sent more"
	case code == "bad_request" && strings.Contains(low, "internal error"):
		return "the site misses something in the page's request, its version or cookies perhaps"
	}
	return "the site refuses and the reason isn't known"
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
