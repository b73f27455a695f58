package qwen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// Cookie is one cookie of an export.
type Cookie struct {
	Name, Value  string
	Domain, Path string
	Secure       bool
	HTTPOnly     bool
	Expires      time.Time // zero: ends with the browser
}

// ParseCookies reads the two usual exports: cookies.txt (seven fields with
// tabs between them) and the JSON of browser extensions and automation tools
// (an array, or an object with an array "cookies").
func ParseCookies(r io.Reader) ([]Cookie, error) {
	const op = "read the cookies"
	b, err := io.ReadAll(io.LimitReader(r, 16<<20))
	if err != nil {
		return nil, fail(KindInvalid, op, "%w", err)
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	var cookies []Cookie
	if first := bytes.TrimSpace(b); bytes.HasPrefix(first, []byte("[")) || bytes.HasPrefix(first, []byte("{")) {
		cookies, err = parseCookiesJSON(first)
	} else {
		cookies, err = parseCookiesText(b)
	}
	if err == nil && len(cookies) == 0 {
		err = fail(KindInvalid, op, "the file holds none")
	}
	return cookies, err
}

func parseCookiesText(b []byte) ([]Cookie, error) {
	var cookies []Cookie
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line, httpOnly := strings.CutPrefix(strings.TrimRight(lines.Text(), "\r"), "#HttpOnly_")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 7 {
			return nil, fail(KindInvalid, "read the cookies", "line %d has %d fields with tabs between them instead of 7", n, len(fields))
		}
		k := Cookie{Domain: fields[0], Path: fields[2], Secure: strings.EqualFold(fields[3], "TRUE"),
			Name: fields[5], Value: fields[6], HTTPOnly: httpOnly}
		if seconds, err := strconv.ParseInt(fields[4], 10, 64); err == nil && seconds > 0 {
			k.Expires = time.Unix(seconds, 0)
		}
		cookies = append(cookies, k)
	}
	if err := lines.Err(); err != nil {
		return nil, fail(KindInvalid, "read the cookies", "%w", err)
	}
	return cookies, nil
}

func parseCookiesJSON(b []byte) ([]Cookie, error) {
	type entry struct {
		Name, Value, Domain, Path string
		Secure, HTTPOnly          bool
		ExpirationDate, Expires   float64
	}
	var list []entry
	var whole struct{ Cookies []entry }
	err := json.Unmarshal(b, &list)
	if err != nil && bytes.HasPrefix(b, []byte("{")) {
		err = json.Unmarshal(b, &whole)
		list = whole.Cookies
	}
	if err != nil {
		return nil, fail(KindInvalid, "read the cookies", "the JSON has another shape: %w", err)
	}
	var cookies []Cookie
	for _, e := range list {
		k := Cookie{Name: e.Name, Value: e.Value, Domain: e.Domain, Path: e.Path, Secure: e.Secure, HTTPOnly: e.HTTPOnly}
		if seconds := max(e.ExpirationDate, e.Expires); seconds > 0 {
			k.Expires = time.Unix(int64(seconds), 0)
		}
		cookies = append(cookies, k)
	}
	return cookies, nil
}

// belongs reports whether a browser would send the cookie to the host.
func (k Cookie) belongs(host string) bool {
	domain := strings.ToLower(strings.TrimPrefix(k.Domain, "."))
	host = strings.ToLower(host)
	return k.Name != "" && (domain == host || strings.HasSuffix(host, "."+domain) && strings.Contains(domain, "."))
}

// param is the cookie as the browser takes it. A domain with a leading dot is
// for subdomains too; without one the cookie is the host's alone.
func (k Cookie) param(site origin) *network.CookieParam {
	p := &network.CookieParam{Name: k.Name, Value: k.Value, Path: firstOf(k.Path, "/"), Secure: k.Secure, HTTPOnly: k.HTTPOnly}
	if strings.HasPrefix(k.Domain, ".") {
		p.Domain = k.Domain
	} else {
		p.URL = site.url("/")
	}
	if !k.Expires.IsZero() {
		p.Expires = cdp.TimeSinceEpoch(float64(k.Expires.Unix()))
	}
	return p
}
