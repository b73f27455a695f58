package qwentest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// encode writes JSON as the site does: one line, nothing escaped for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode a reply: %v", err)) // only our own maps come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (c *call) json(status int, v any) {
	if !c.sleep(c.options.ReplyDelay) {
		return
	}
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(encode(v))
}

func (c *call) ok(data any) {
	c.json(http.StatusOK, obj{"success": true, "request_id": uuid.NewString(), "data": data})
}

// refuse is a failure in the site's usual shape: status 200, the true one in a
// header.
func (c *call) refuse(actual int, code string, details any) {
	c.fail(actual, obj{"code": code, "details": details})
}

func (c *call) fail(actual int, data obj) {
	c.w.Header().Set("X-Actual-Status-Code", strconv.Itoa(actual))
	c.failure(obj{"success": false, "request_id": uuid.NewString(), "data": data})
}

// failure sends an error object; on the send its framing is one of the open
// questions.
func (c *call) failure(v any) {
	shape := c.options.ErrorShape
	if c.r.URL.Path != "/api/v2/chat/completions" || shape == "" || shape == "json" {
		c.json(http.StatusOK, v)
		return
	}
	if !c.sleep(c.options.ReplyDelay) {
		return
	}
	c.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	if shape == "framed" {
		_, _ = fmt.Fprintf(c.w, "data: %s\n\n", encode(v))
		return
	}
	_, _ = c.w.Write(encode(v))
}

func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// captcha is the stub that means "prove that you are a person".
func (c *call) captcha() {
	c.failure(obj{
		"ret": []string{"FAIL_SYS_USER_VALIDATE", "RGV587_ERROR::SM::哎哟喂,被挤爆啦,请稍后重试"},
		"data": obj{
			"url": origin(c.r) + "/" + c.r.URL.Path + "/_____tmd_____/punish?x5secdata=" + strings.ReplaceAll(uuid.NewString(), "-", "") +
				"&x5step=2&action=captchaconnect&pureCaptcha=",
			"dialogSize": obj{"width": "420", "height": "320"},
		},
		"attributes": obj{},
	})
}

func (c *call) html(status int, body string) {
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write([]byte(body))
}

// wafPage is the firewall's page: no title, about 16 kB, and a script that
// tries again after a while when reload is not negative.
func wafPage(reload int64) string {
	script := ""
	if reload >= 0 {
		script = fmt.Sprintf(`setTimeout(function(){document.cookie="acw_sc__v2=1;path=/";location.reload()},%d)`, reload)
	}
	return `<!doctypehtml><html><head><meta charset="utf-8"><meta name="aliyun_waf_aa" content="` + strings.Repeat("a3", 64) +
		`"><meta name="aliyun_waf_bb" content="` + strings.Repeat("b4", 64) + `"><title></title></head><body><script>` +
		script + "/*" + strings.Repeat("0x5f", 3800) + `*/</script></body></html>`
}

func (c *call) notFound(what string) {
	c.refuse(http.StatusNotFound, "Not_Found", what+" is not exist")
}

func (c *call) unauthorized() {
	c.refuse(http.StatusUnauthorized, "Unauthorized", "Please log in first.")
}

// ended says that a response is no longer live, in one of the shapes seen.
func (c *call) ended() {
	if c.options.EndedShape == "error" {
		c.failure(obj{"error": obj{"code": "Bad_Request", "details": "The request is ended!"}})
		return
	}
	c.ok(obj{"status": false, "details": "The request is ended!"})
}

// strike applies the faults that take the place of a reply. It returns false
// when the request is to be handled as usual.
func (c *call) strike() bool {
	if f, ok := c.faults.get(Slow); ok && !c.sleep(f.Delay) {
		return true
	}
	for _, f := range c.faults {
		switch f.Kind {
		case DropRST, LoseRST, DropFIN, LoseFIN, UnreadRST, UnreadFIN:
			cut(c.r, strings.HasSuffix(string(f.Kind), "-rst"), false)
		case HeadersRST, HeadersFIN:
			c.openStream()
			c.sleep(20 * time.Millisecond) // a reset overtakes what the client has not read
			cut(c.r, f.Kind == HeadersRST, false)
		case HeadersHang:
			c.openStream()
			c.hang()
		case HeadersSlow:
			c.openStream()
			c.sleep(f.Delay)
		case Hang:
			c.hang()
		case GoAway, RefuseStream, GoAwayDone:
			c.strikeFrame(f)
		}
		if c.strikeReply(f) {
			return true
		}
	}
	return false
}

func (c *call) strikeReply(f Fault) bool {
	switch f.Kind {
	case Status:
		c.status(f.n(503))
	case Quota:
		c.fail(429, obj{"code": "RateLimited", "details": "You have reached the upper limit for today's usage.", "num": f.n(3)})
	case TokenQuota:
		c.failure(obj{"error": obj{"code": "quota_limit", "message": "Allocated quota exceeded, please increase your quota limit. #token-limit"}})
	case Challenge:
		c.captcha()
	case ChallengeHTML:
		reload := int64(-1)
		if f.Delay > 0 {
			reload = f.Delay.Milliseconds()
		}
		c.html(http.StatusOK, wafPage(reload))
	case Busy:
		c.refuse(http.StatusBadRequest, "Bad_Request", "The chat is in progress!")
	case ServerBusy:
		c.refuse(http.StatusServiceUnavailable, "internal_error", "Service busy: too many visits, the system is in overload, try again later.")
	case Unauthorized:
		c.unauthorized()
	case Internal:
		c.refuse(http.StatusBadRequest, "Bad_Request", "Internal error...")
	case Garbage:
		c.html(http.StatusOK, "<html><body>502 Bad Gateway</body></html>")
	case NotFound:
		c.notFound("chat")
	default:
		s, ok := shapeOf(f.Kind)
		if ok {
			c.literal(s)
		}
		return ok
	}
	return true
}

func (c *call) status(code int) {
	if code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect {
		q := c.r.URL.Query()
		q.Set("again", "1")
		c.w.Header().Set("Location", c.r.URL.Path+"?"+q.Encode())
	}
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", "60")
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.WriteHeader(code)
	_, _ = fmt.Fprintln(c.w, http.StatusText(code))
}
