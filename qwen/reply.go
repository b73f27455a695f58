package qwen

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// reply is one answer of the site, as js/get.js returns it.
type reply struct {
	Status int    `json:"status"` // 0: there was none
	Actual int    `json:"actual"` // the site's x-actual-status-code, 0 if absent
	Type   string `json:"type"`   // content type
	Path   string `json:"path"`   // where redirects led
	Body   string `json:"body"`
	Failed string `json:"failed"` // why there was none
}

// envelope is the union of the shapes in which the site says no. It says so
// with HTTP 200 nearly always, so the body decides, never the status alone.
type envelope struct {
	Success *bool           `json:"success"`
	Ret     json.RawMessage `json:"ret"`    // the gate of the site's own protection
	Detail  json.RawMessage `json:"detail"` // v1 calls
	Code    word            `json:"code"`
	Message word            `json:"message"`
	Data    json.RawMessage `json:"data"`
	Error   json.RawMessage `json:"error"`
	Errors  json.RawMessage `json:"errors"`
}

// word is a string, or whatever else stands in its place: a number is not a
// reason not to understand the rest.
type word string

// UnmarshalJSON takes any value.
func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	switch err := json.Unmarshal(b, &s); {
	case err == nil:
		*w = word(s)
	case string(b) != "null":
		*w = word(b)
	}
	return nil
}

// check returns nil for a reply that is a plain success, and the class of
// trouble otherwise.
func (r reply) check(op string, now time.Time) error {
	if r.Status == 0 {
		return fail(KindUnreachable, op, "%s", firstOf(r.Failed, "no reply"))
	}
	body := strings.TrimSpace(r.Body)
	if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
		return r.checkPage(op, body)
	}
	var e envelope
	if strings.HasPrefix(body, "{") {
		err := json.Unmarshal([]byte(body), &e)
		var shape *json.UnmarshalTypeError
		switch {
		case errors.As(err, &shape):
			return fail(KindSiteChanged, op, "the reply has another shape: %w", err)
		case err != nil:
			return fail(KindUnreachable, op, "the reply is cut or not JSON: %w", err)
		}
	}
	if err := e.check(op, now); err != nil {
		said := *asError(err, KindSiteChanged, op)
		said.Said = true
		return &said
	}
	return r.checkStatus(op)
}

// checkPage judges a reply that should have been JSON and is a page or text.
func (r reply) checkPage(op, body string) error {
	low := strings.ToLower(body)
	switch {
	case strings.Contains(low, "aliyun_waf") || strings.Contains(low, "waf_nc") || strings.Contains(low, "/punish"):
		return fail(KindChallenge, op, "the site shows a check page")
	case r.Status >= 400:
		return r.checkStatus(op)
	}
	return fail(KindSiteChanged, op, "the reply is not JSON but %s: %q", firstOf(r.Type, "unknown"), oneLine(body, 80))
}

// checkStatus judges by the HTTP status alone, when the body says nothing.
func (r reply) checkStatus(op string) error {
	status := max(r.Status, r.Actual)
	switch {
	case status < 400:
		return nil
	case status == 401:
		return fail(KindLogin, op, "HTTP %d", status)
	case status == 404:
		return fail(KindGone, op, "HTTP %d", status)
	case status == 429:
		return fail(KindQuota, op, "HTTP %d", status)
	case status == 413:
		e := fail(KindInvalid, op, "HTTP %d: the text is too long for the site", status)
		e.Advice = adviceShorten
		return e
	case status >= 500 || status == 408 || status == 425:
		return fail(KindUnreachable, op, "the site answers HTTP %d", status)
	}
	return fail(KindSiteChanged, op, "HTTP %d: %s", status, oneLine(r.Body, 120))
}

// check classifies an envelope; nil when it says no trouble.
func (e envelope) check(op string, now time.Time) error {
	switch ret := string(e.Ret); {
	case !says(e.Ret) || strings.Contains(ret, "SUCCESS"):
	case strings.Contains(ret, "FAIL_SYS_USER_VALIDATE") || strings.Contains(ret, "RGV587"):
		return fail(KindChallenge, op, "the site asks for a person (%s)", oneLine(ret, 60))
	default:
		return fail(KindSiteChanged, op, "the site's gate says something that isn't known: %s", oneLine(ret, 120))
	}
	if e.Detail != nil && strings.Contains(string(e.Detail), "401") {
		return fail(KindLogin, op, "the site says %s", oneLine(string(e.Detail), 60))
	}
	if t, ok := e.trouble(); ok {
		return t.check(op, now)
	}
	return nil
}

// oneLine makes a text fit for an error: one line, at most limit characters.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// decode reads the data of a checked reply into a value.
func decode[T any](r reply, op string) (T, error) {
	var whole struct {
		Data T `json:"data"`
	}
	if err := json.Unmarshal([]byte(r.Body), &whole); err != nil {
		return whole.Data, fail(KindSiteChanged, op, "%w", fmt.Errorf("the reply has another shape: %w", err))
	}
	return whole.Data, nil
}
