package qwen

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// paused is a request that the browser holds for us. It is decoded from the
// raw event with only what is needed: an enumeration that is newer than the
// library must not make a request invisible.
type paused struct {
	ID      fetch.RequestID `json:"requestId"`
	Network string          `json:"networkId"`
	Status  *int            `json:"responseStatusCode"`
	Reason  string          `json:"responseErrorReason"`
	Request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		HasBody bool              `json:"hasPostData"`
		Headers map[string]string `json:"headers"`
		Entries []struct {
			Bytes string `json:"bytes"`
		} `json:"postDataEntries"`
		Body string `json:"postData"`
	} `json:"request"`
}

// atResponse reports whether the request is paused with its reply in.
func (p paused) atResponse() bool { return p.Status != nil || p.Reason != "" }

// version is the front end's version, as the page's own calls name it.
func (p paused) version() string {
	for name, value := range p.Request.Headers {
		if strings.EqualFold(name, "Version") {
			return value
		}
	}
	return ""
}

// path names the request in errors: an address may hold anything.
func (p paused) path() string {
	u, err := url.Parse(p.Request.URL)
	if err != nil {
		return p.Request.Method + " of an address that is none"
	}
	return p.Request.Method + " " + u.Host + u.Path
}

// commandTimeout bounds one command to the browser: one that hangs must not
// hang the gate or its caller. No answer counts as a refusal to obey.
const commandTimeout = 10 * time.Second

// body is the request's body as far as the event brought it; nil if it has one
// that must be asked for.
func (p paused) body() []byte {
	var body []byte
	for _, e := range p.Request.Entries {
		b, err := base64.StdEncoding.DecodeString(e.Bytes)
		if err != nil {
			return []byte(p.Request.Body)
		}
		body = append(body, b...)
	}
	if body == nil && p.Request.Body != "" {
		return []byte(p.Request.Body)
	}
	return body
}

// body returns a paused request's body, asking for it when the event came
// without.
func (g *gate) body(p paused) []byte {
	body := p.body()
	if body != nil || !p.Request.HasBody {
		return body
	}
	tab, cancel := context.WithTimeout(g.tab, commandTimeout)
	defer cancel()
	r, err := chromedp.Call(tab, network.GetRequestPostData,
		network.GetRequestPostDataParams{RequestID: network.RequestID(p.Network)})
	if err != nil {
		return nil
	}
	return r.PostData
}

// proceed lets a request go. An error means that the page or the request is
// gone already.
func (g *gate) proceed(p paused) error {
	tab, cancel := context.WithTimeout(g.tab, commandTimeout)
	defer cancel()
	_, err := chromedp.Call(tab, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: p.ID})
	return err
}

// fail refuses a request and waits for the browser's word that it is dropped.
func (g *gate) fail(p paused) error {
	tab, cancel := context.WithTimeout(g.tab, commandTimeout)
	defer cancel()
	_, err := chromedp.Call(tab, fetch.FailRequest, fetch.FailRequestParams{
		RequestID: p.ID, ErrorReason: network.ErrorReasonBlockedByClient})
	return err
}

// replyBody reads the body of a request that is paused with its reply in.
func (g *gate) replyBody(p paused) (string, error) {
	tab, cancel := context.WithTimeout(g.tab, holdTimeout)
	defer cancel()
	r, err := chromedp.Call(tab, fetch.GetResponseBody, fetch.GetResponseBodyParams{RequestID: p.ID})
	return string(r.Body), err
}
