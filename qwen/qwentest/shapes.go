package qwentest

import (
	"net/http"
	"strconv"
)

// Refusals whose reply is known to the letter, and replies that nobody knows.
// Nothing is accepted unless Take is set.
const (
	CheckOld      Kind = "check-old"        // the captcha stub as it was until August 2026: action=captcha
	CheckBare     Kind = "check-bare"       // the stub with nothing but its second word
	QuotaText     Kind = "quota-text"       // the daily limit, its hours as text
	QuotaNoHours  Kind = "quota-no-hours"   // the daily limit, without saying how long
	TokenQuotaTxt Kind = "token-quota-text" // the token quota, in words alone
	BusyCode      Kind = "busy-code"        // CHAT_IN_PROGRESS under error
	BusyErrors    Kind = "busy-errors"      // the same in a list under errors
	BusyDeep      Kind = "busy-deep"        // the same in an error within data
	Ended         Kind = "ended"            // "The request is ended!" under error
	Finished      Kind = "request-over"     // "The request is finished!" under error
	EndedData     Kind = "ended-data"       // success with status false
	Filtered      Kind = "filtered"         // data_inspection_failed in place of a stream
	Validation    Kind = "validation"       // RequestValidationError
	InvalidInput  Kind = "invalid-input"    // invalid_input
	TooMany       Kind = "too-many"         // "Invalid input too many messages."
	NoModel       Kind = "no-model"         // "Model not found"
	Unauthorized1 Kind = "unauthorized-v1"  // {"detail":"401 Unauthorized"}
	TokenExpired  Kind = "token-expired"    // data.code TokenExpired
	AuthFailed    Kind = "auth-failed"      // data.code AuthenticationFailed
	BusyText      Kind = "busy-text"        // an overloaded server, in words alone
	Unknown       Kind = "unknown"          // a refusal that nobody has seen
	UnknownError  Kind = "unknown-error"    // an error that is a text
	Strange       Kind = "strange"          // a success that is no answer
	Blank         Kind = "blank"            // status 200 and nothing
	HalfJSON      Kind = "half-json"        // JSON that is cut
)

// shape is a reply as it was captured, or made up where the kind says so.
type shape struct {
	kind   Kind
	actual int // x-actual-status-code; 0: none
	body   string
}

// shapes are the replies of the kinds above. Source: wire captures and clients
// of 2026; the request's id is any.
var shapes = []shape{
	{CheckOld, 0, `{"ret":["FAIL_SYS_USER_VALIDATE","RGV587_ERROR::SM::哎哟喂,被挤爆啦,请稍后重试"],"data":{"url":"https://chat.qwen.ai:443//api/v2/chat/completions/_____tmd_____/punish?x5secdata=a&x5step=2&action=captcha&pureCaptcha="}}`},
	{CheckBare, 0, `{"ret":["RGV587_ERROR::SM::哎哟喂,被挤爆啦,请稍后重试"]}`},
	{QuotaText, 429, `{"success":false,"request_id":"r","data":{"code":"RateLimited","details":"You have reached the upper limit for today's usage.","num":"5"}}`},
	{QuotaNoHours, 429, `{"success":false,"request_id":"r","data":{"code":"RateLimited","details":"You have reached the upper limit for today's usage."}}`},
	{TokenQuotaTxt, 0, `{"error":{"message":"Allocated quota exceeded, please increase your quota limit. #token-limit"}}`},
	{BusyCode, 0, `{"error":{"code":"CHAT_IN_PROGRESS"}}`},
	{BusyErrors, 0, `{"errors":[{"code":"CHAT_IN_PROGRESS"}]}`},
	{BusyDeep, 400, `{"success":false,"data":{"error":{"code":"CHAT_IN_PROGRESS"}}}`},
	{Ended, 0, `{"error":{"details":"The request is ended!"}}`},
	{Finished, 0, `{"error":{"details":"The request is finished!"}}`},
	{EndedData, 0, `{"success":true,"data":{"status":false,"details":"The request is ended!"}}`},
	{Filtered, 0, `{"error":{"code":"data_inspection_failed","details":"The content may contain inappropriate material."}}`},
	{Validation, 422, `{"success":false,"request_id":"r","data":{"code":"RequestValidationError","details":["Field 'query -> chat_id': Field required"]}}`},
	{InvalidInput, 400, `{"success":false,"request_id":"r","data":{"code":"invalid_input","details":"thinking_enabled must be true for this model"}}`},
	{TooMany, 400, `{"success":false,"request_id":"r","data":{"code":"Bad_Request","details":"Invalid input too many messages."}}`},
	{NoModel, 404, `{"success":false,"request_id":"r","data":{"code":"Not_Found","details":"Model not found"}}`},
	{Unauthorized1, 0, `{"detail":"401 Unauthorized"}`},
	{TokenExpired, 401, `{"success":false,"request_id":"r","data":{"code":"TokenExpired","details":"The token has expired."}}`},
	{AuthFailed, 401, `{"success":false,"request_id":"r","data":{"code":"AuthenticationFailed"}}`},
	{BusyText, 0, `{"success":false,"message":"Service busy: too many visits, try again later"}`},
	{Unknown, 418, `{"success":false,"request_id":"r","data":{"code":"Brand_New","details":"Nobody has seen this."}}`},
	{UnknownError, 0, `{"error":"something new"}`},
	{Strange, 0, `{"success":true,"request_id":"r","data":{"task_id":"t"}}`},
	{Blank, 0, ``},
	{HalfJSON, 0, `{"success":false,"data":{"code":"RateLi`},
}

// shapeOf finds a kind's reply.
func shapeOf(k Kind) (shape, bool) {
	for _, s := range shapes {
		if s.kind == k {
			return s, true
		}
	}
	return shape{}, false
}

func init() {
	for _, s := range shapes {
		Kinds = append(Kinds, s.kind)
	}
}

// literal replies with a shape.
func (c *call) literal(s shape) {
	if !c.sleep(c.options.ReplyDelay) {
		return
	}
	if s.actual != 0 {
		c.w.Header().Set("X-Actual-Status-Code", strconv.Itoa(s.actual))
	}
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write([]byte(s.body))
}
