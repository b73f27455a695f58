package qwen

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestEveryKnownReply: each shape in which the site was seen to answer.
func TestEveryKnownReply(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	stub := `{"ret":["FAIL_SYS_USER_VALIDATE","RGV587_ERROR::SM::哎哟喂,被挤爆啦,请稍后重试"],"data":{"url":"https://chat.qwen.ai:443//api/v2/chat/completions/_____tmd_____/punish?x5secdata=a&x5step=2&action=captchaconnect&pureCaptcha="}}`
	for name, c := range map[string]struct {
		reply reply
		kind  Kind
	}{
		"success":             {reply{Status: 200, Body: `{"success":true,"request_id":"r","data":{"id":"x"}}`}, ""},
		"success, a list":     {reply{Status: 200, Body: `{"success":true,"data":[]}`}, ""},
		"success, bare":       {reply{Status: 200, Body: `{"id":"u","email":"e","role":"user","token":"t"}`}, ""},
		"success, array":      {reply{Status: 200, Body: ` [1,2]`}, ""},
		"success, odd code":   {reply{Status: 200, Body: `{"success":true,"code":200,"message":null,"data":{"status":"success"}}`}, ""},
		"success, no errors":  {reply{Status: 200, Body: `{"success":true,"error":null,"errors":[],"data":{"status":true}}`}, ""},
		"success, no error":   {reply{Status: 200, Body: `{"success":true,"error":{},"data":{"id":"x"}}`}, ""},
		"captcha, JSON":       {reply{Status: 200, Body: stub}, KindChallenge},
		"captcha, RGV alone":  {reply{Status: 200, Body: `{"ret":["RGV587_ERROR::SM::x"],"data":{}}`}, KindChallenge},
		"captcha, HTML":       {reply{Status: 200, Type: "text/html", Body: `<!doctypehtml><html><head><meta name="aliyun_waf_aa" content="1"></head>`}, KindChallenge},
		"captcha, HTML 403":   {reply{Status: 403, Body: `<html>/_____tmd_____/punish</html>`}, KindChallenge},
		"daily limit":         {reply{Status: 200, Actual: 429, Body: `{"success":false,"request_id":"r","data":{"code":"RateLimited","details":"You have reached the upper limit for today's usage.","num":3}}`}, KindQuota},
		"daily limit, 429":    {reply{Status: 429, Body: "Too Many Requests"}, KindQuota},
		"token quota":         {reply{Status: 200, Body: `{"error":{"message":"Allocated quota exceeded, please increase your quota limit. #token-limit","code":"quota_limit"}}`}, KindQuota},
		"token quota, text":   {reply{Status: 200, Body: `{"error":{"message":"Allocated quota exceeded"}}`}, KindQuota},
		"chat busy":           {reply{Status: 200, Body: `{"success":false,"data":{"code":"Bad_Request","details":"The chat is in progress!"}}`}, KindUnreachable},
		"chat busy, code":     {reply{Status: 200, Body: `{"error":{"code":"CHAT_IN_PROGRESS"}}`}, KindUnreachable},
		"chat busy, errors":   {reply{Status: 200, Body: `{"errors":[{"code":"CHAT_IN_PROGRESS"}]}`}, KindUnreachable},
		"ended":               {reply{Status: 200, Body: `{"error":{"details":"The request is ended!"}}`}, KindGeneration},
		"finished":            {reply{Status: 200, Body: `{"error":{"details":"The request is finished!"}}`}, KindGeneration},
		"ended, in data":      {reply{Status: 200, Body: `{"success":true,"data":{"status":false,"details":"The request is ended!"}}`}, KindGeneration},
		"filter":              {reply{Status: 200, Body: `{"error":{"code":"data_inspection_failed","details":"x"}}`}, KindFiltered},
		"bad headers":         {reply{Status: 200, Body: `{"success":false,"data":{"code":"Bad_Request","details":"Internal error..."}}`}, KindSiteChanged},
		"bad body":            {reply{Status: 200, Body: `{"success":false,"data":{"code":"RequestValidationError","details":["Field 'query -> chat_id': Field required"]}}`}, KindSiteChanged},
		"invalid input":       {reply{Status: 200, Body: `{"success":false,"data":{"code":"invalid_input","details":"thinking_enabled"}}`}, KindSiteChanged},
		"many messages":       {reply{Status: 200, Body: `{"success":false,"data":{"code":"Bad_Request","details":"Invalid input too many messages."}}`}, KindSiteChanged},
		"no such chat":        {reply{Status: 200, Actual: 404, Body: `{"success":false,"data":{"code":"Not_Found","details":"chat x is not exist"}}`}, KindGone},
		"no such chat, 404":   {reply{Status: 404, Body: `{"detail":"Not Found"}`}, KindGone},
		"true status alone":   {reply{Status: 200, Actual: 404, Body: `{"success":true,"data":{}}`}, KindGone},
		"unauthorized":        {reply{Status: 200, Body: `{"success":false,"data":{"code":"unauthorized"}}`}, KindLogin},
		"Unauthorized":        {reply{Status: 200, Body: `{"success":false,"data":{"code":"Unauthorized","details":"Please log in first."}}`}, KindLogin},
		"token expired":       {reply{Status: 200, Body: `{"success":false,"data":{"code":"TokenExpired"}}`}, KindLogin},
		"not authenticated":   {reply{Status: 200, Body: `{"success":false,"data":{"code":"AuthenticationFailed"}}`}, KindLogin},
		"code is a number":    {reply{Status: 200, Body: `{"success":false,"data":{"code":401,"details":null}}`}, KindLogin},
		"v1, 200":             {reply{Status: 200, Body: `{"detail":"401 Unauthorized"}`}, KindLogin},
		"v1, 401":             {reply{Status: 401, Body: `{"detail":"401 Unauthorized"}`}, KindLogin},
		"bare 401":            {reply{Status: 401, Body: ``}, KindLogin},
		"server busy":         {reply{Status: 503, Body: `{"error":{"code":"internal_error","details":"Service busy, too many visits"}}`}, KindUnreachable},
		"server busy, text":   {reply{Status: 200, Body: `{"success":false,"message":"Server is busy, try again later"}`}, KindUnreachable},
		"blocked network":     {reply{Status: 503, Body: "Service Unavailable"}, KindUnreachable},
		"gateway, HTML":       {reply{Status: 502, Body: "<html>502 Bad Gateway</html>"}, KindUnreachable},
		"no reply":            {reply{Failed: "Failed to fetch"}, KindUnreachable},
		"cut JSON":            {reply{Status: 200, Body: `{"success":true,"data":{"id":"x`}, KindUnreachable},
		"empty":               {reply{Status: 200, Body: ""}, KindSiteChanged},
		"a page":              {reply{Status: 200, Type: "text/html", Body: "<html>hello</html>"}, KindSiteChanged},
		"forbidden":           {reply{Status: 403, Body: "Forbidden"}, KindSiteChanged},
		"too early":           {reply{Status: 425, Body: "Too Early"}, KindUnreachable},
		"unknown refusal":     {reply{Status: 200, Body: `{"success":false}`}, KindSiteChanged},
		"gate, one text":      {reply{Status: 200, Body: `{"ret":"FAIL_SYS_USER_VALIDATE","data":{}}`}, KindChallenge},
		"gate, unknown":       {reply{Status: 200, Body: `{"ret":["FAIL_SYS_ILLEGAL_ACCESS"],"data":{}}`}, KindSiteChanged},
		"gate says success":   {reply{Status: 200, Body: `{"ret":["SUCCESS::ok"],"data":{"id":"x"}}`}, ""},
		"hours are a text":    {reply{Status: 200, Body: `{"success":false,"data":{"code":"RateLimited","num":"3"}}`}, KindQuota},
		"status is a text":    {reply{Status: 200, Body: `{"success":false,"data":{"code":"RateLimited","status":"failed"}}`}, KindQuota},
		"limit, no code":      {reply{Status: 200, Body: `{"success":false,"data":{"details":"You have reached the upper limit for today's usage."}}`}, KindQuota},
		"busy, in data":       {reply{Status: 200, Body: `{"success":false,"data":{"code":"CHAT_IN_PROGRESS"}}`}, KindUnreachable},
		"busy, data, error":   {reply{Status: 200, Body: `{"success":false,"data":{"error":{"code":"CHAT_IN_PROGRESS"}}}`}, KindUnreachable},
		"busy, error, data":   {reply{Status: 200, Body: `{"error":{"data":[{"code":"CHAT_IN_PROGRESS"}]}}`}, KindUnreachable},
		"error in an error":   {reply{Status: 200, Body: `{"error":{"error":{"code":"quota_limit"}}}`}, KindQuota},
		"no such model":       {reply{Status: 200, Body: `{"success":false,"data":{"code":"Not_Found","details":"Model not found"}}`}, KindSiteChanged},
		"success is a text":   {reply{Status: 200, Body: `{"success":"no"}`}, KindSiteChanged},
		"too large":           {reply{Status: 413, Body: "Payload Too Large"}, KindInvalid},
		"unknown error, text": {reply{Status: 200, Body: `{"error":"something new"}`}, KindSiteChanged},
	} {
		err := c.reply.check("try", now)
		if kindOf(err) != c.kind {
			t.Errorf("%s: %v is of kind %q, want %q", name, err, kindOf(err), c.kind)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%s: the error has lines: %q", name, err)
		}
	}
}

func TestQuotaSaysUntil(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	body := `{"success":false,"data":{"code":"RateLimited","details":"limit","num":2.5}}`
	e := asError(reply{Status: 200, Body: body}.check("try", now), "", "")
	if want := now.Add(150 * time.Minute); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until(), want)
	}
	for _, num := range []string{`"3"`, `" 3 "`, "3"} {
		e := asError(reply{Status: 200, Body: strings.Replace(body, "2.5", num, 1)}.check("try", now), "", "")
		if want := now.Add(3 * time.Hour); !e.Until().Equal(want) {
			t.Errorf("num %s: until %v, want %v", num, e.Until(), want)
		}
	}
	for _, num := range []string{"null", "0", "-2", `"soon"`, "1e300", `"NaN"`, `"Inf"`, "[3]"} {
		e := asError(reply{Status: 200, Body: strings.Replace(body, "2.5", num, 1)}.check("try", now), "", "")
		if !e.Until().IsZero() || e.Kind != KindQuota {
			t.Errorf("num %s: until %v, %s", num, e.Until(), e.Kind)
		}
	}
	none := asError(reply{Status: 429}.check("try", now), "", "")
	if !none.Until().IsZero() || none.Useless() {
		t.Errorf("a quota without a time: until %v, useless %v", none.Until(), none.Useless())
	}
}

// TestCheckNeverPanics on anything that a broken network may deliver, and
// never takes a refusal for a success.
func TestCheckNeverPanics(t *testing.T) {
	pieces := rapid.SampledFrom([]string{`{`, `}`, `"success":`, `false`, `true`, `,`, `"data":`, `null`, `"error":`, `[`, `]`, `"x"`, `1`, ` `, `"ret":`})
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		r := reply{Status: rapid.SampledFrom([]int{0, 200, 204, 301, 400, 500}).Draw(t, "status"), Body: body}
		err := r.check("try", time.Now())
		if err == nil && (r.Status == 0 || r.Status >= 400) {
			t.Fatalf("%+v passes", r)
		}
	})
}

// TestAboutRead: what a reply to a read says of an answer or a text was made for
// another call. It fails no job.
func TestAboutRead(t *testing.T) {
	for body, want := range map[string]Kind{
		`{"error":{"details":"The request is ended!"}}`:                                 KindUnreachable,
		`{"success":true,"data":{"status":false,"details":"The request is ended!"}}`:    KindUnreachable,
		`{"error":{"code":"data_inspection_failed"}}`:                                   KindUnreachable,
		`{"success":false,"data":{"code":"Not_Found","details":"chat x is not exist"}}`: KindGone,
		`{"success":false,"data":{"code":"RateLimited","num":3}}`:                       KindQuota,
		`{"success":false,"data":{"code":"Brand_New"}}`:                                 KindSiteChanged,
		`{"ret":["FAIL_SYS_USER_VALIDATE"]}`:                                            KindChallenge,
	} {
		if err := aboutRead(reply{Status: 200, Body: body}.check("read the chat", time.Now())); kindOf(err) != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	if err := aboutRead(reply{Status: 413}.check("read the chat", time.Now())); kindOf(err) != KindUnreachable {
		t.Errorf("413: %v", err)
	}
}

func TestErrorAnswers(t *testing.T) {
	e := fail(KindQuota, "send", "%w", errNoHeaders)
	if e.Error() != "send: "+errNoHeaders.Error() || e.Class() != "quota" || e.Hint() == "" || e.MayHaveLeft() || e.Unwrap() == nil {
		t.Errorf("%q, %q, %q", e.Error(), e.Class(), e.Hint())
	}
	if got := (&Error{Op: "send"}).Error(); got != "send" {
		t.Errorf("without a cause: %q", got)
	}
	for kind := range advice {
		if (&Error{Kind: kind}).Useless() == (kind == KindUnreachable || kind == KindQuota || kind == KindBusy || kind == KindGeneration) {
			t.Errorf("%s: useless is wrong", kind)
		}
	}
	if got := asError(errNoHeaders, KindBrowser, "op"); got.Kind != KindBrowser || got.Op != "op" || got.Err != errNoHeaders {
		t.Errorf("%+v", got)
	}
	if got := oneLine(" a\n\tb   c ", 3); got != "a b…" {
		t.Errorf("%q", got)
	}
}
