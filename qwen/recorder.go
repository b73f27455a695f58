package qwen

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// How much a recorder remembers.
const (
	recordedReplies = 40
	recordedLines   = 100
	recordedLine    = 500 // characters
)

// recorder remembers the last replies of the site's API (which, not what is in
// them: the browser keeps that) and the last lines of the page's console. It
// only listens.
type recorder struct {
	site origin

	mu      sync.Mutex
	replies []recorded
	lines   []string
}

// recorded is one reply.
type recorded struct {
	ID       string `json:"requestId"`
	Type     string `json:"type"`
	Response struct {
		URL     string            `json:"url"`
		Status  int               `json:"status"`
		Type    string            `json:"mimeType"`
		Headers map[string]string `json:"headers"`
	} `json:"response"`
	at time.Time
}

// recordPage listens to a page until it ends.
func recordPage(tab context.Context, site origin) *recorder {
	r := &recorder{site: site}
	target := chromedp.FromContext(tab).Target
	for method, take := range map[string]func([]byte){
		network.ResponseReceived.Method: r.takeReply,
		runtime.ConsoleAPICalled.Method: r.takeConsole,
		runtime.ExceptionThrown.Method:  r.takeException,
		cdplog.EntryAdded.Method:        r.takeEntry,
	} {
		events, _ := target.Subscribe(method)
		go func() {
			for raw := range events {
				take(raw)
			}
		}()
	}
	return r
}

func (r *recorder) takeReply(raw []byte) {
	one := recorded{at: time.Now()}
	if json.Unmarshal(raw, &one) != nil || !r.site.hosts(one.Response.URL) {
		return
	}
	u, err := url.Parse(one.Response.URL)
	if err != nil || !(strings.HasPrefix(u.Path, "/api/") || one.Type == "Document") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies = lastOf(append(r.replies, one), recordedReplies)
}

func (r *recorder) takeConsole(raw []byte) {
	var ev struct {
		Type string `json:"type"`
		Args []struct {
			Value       json.RawMessage `json:"value"`
			Description string          `json:"description"`
		} `json:"args"`
	}
	if json.Unmarshal(raw, &ev) != nil {
		return
	}
	var words []string
	for _, a := range ev.Args {
		var text word // a string without its quotes, so that its secrets are found
		_ = json.Unmarshal(a.Value, &text)
		words = append(words, firstOf(a.Description, string(text)))
	}
	r.note(ev.Type, strings.Join(words, " "))
}

func (r *recorder) takeException(raw []byte) {
	var ev struct {
		Details struct {
			Text      string `json:"text"`
			URL       string `json:"url"`
			Line      int    `json:"lineNumber"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if json.Unmarshal(raw, &ev) == nil {
		r.note("exception", fmt.Sprintf("%s %s (%s:%d)", ev.Details.Text, ev.Details.Exception.Description, withoutQuery(ev.Details.URL), ev.Details.Line+1))
	}
}

func (r *recorder) takeEntry(raw []byte) {
	var ev struct {
		Entry struct {
			Source string `json:"source"`
			Level  string `json:"level"`
			Text   string `json:"text"`
			URL    string `json:"url"`
		} `json:"entry"`
	}
	if json.Unmarshal(raw, &ev) == nil {
		r.note(ev.Entry.Source+" "+ev.Entry.Level, ev.Entry.Text+" "+withoutQuery(ev.Entry.URL))
	}
}

// note keeps one line. It is cut to size after its secrets are gone: half a
// secret would not be known for one.
func (r *recorder) note(kind, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = lastOf(append(r.lines, time.Now().UTC().Format(time.TimeOnly)+" "+kind+": "+oneLine(text, 20*recordedLine)), recordedLines)
}

func lastOf[T any](list []T, most int) []T { return slices.Clone(list[max(0, len(list)-most):]) }

func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	return address
}

// bodies asks the browser for what it still has of the replies.
func (r *recorder) bodies(tab context.Context) (replies []recorded, bodies []string) {
	r.mu.Lock()
	replies = slices.Clone(r.replies)
	r.mu.Unlock()
	bodies = make([]string, len(replies))
	for i, one := range replies {
		if one.Type == "Document" {
			continue
		}
		got, err := chromedp.Call(tab, network.GetResponseBody, network.GetResponseBodyParams{RequestID: network.RequestID(one.ID)})
		if err == nil {
			bodies[i] = string(got.Body)
		}
	}
	return replies, bodies
}

// said are the console's lines so far.
func (r *recorder) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}
