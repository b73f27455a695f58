package qwen

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// plainPage has no anti-bot scripts, and twins of its composer as pages keep
// them to measure its height.
const plainPage = `<body>
<textarea id="chat-input" style="visibility:hidden">twin</textarea>
<div aria-hidden="true"><textarea placeholder="How can I help you">twin</textarea></div>
<form><textarea readonly>twin</textarea><textarea disabled>twin</textarea></form>
<main><textarea class="real"></textarea></main>
<script>localStorage.setItem("token", "the.page's.token")</script>`

// plainSite serves plainPage. Its API takes the token in a header only, and
// keeps the headers of the calls that had it.
func plainSite(t *testing.T) (site *httptest.Server, headers func() http.Header) {
	var mu sync.Mutex
	var last http.Header
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, plainPage)
	})
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"detail":"401 Unauthorized"}`)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		last = r.Header.Clone()
		io.WriteString(w, `{"id":"the-person","error":{}}`)
	})
	site = httptest.NewServer(mux)
	t.Cleanup(site.Close)
	return site, func() http.Header { mu.Lock(); defer mu.Unlock(); return last }
}

// openPlain loads the site's page.
func openPlain(t *testing.T) (*page, func() http.Header) {
	site, headers := plainSite(t)
	c, err := New(Options{Site: site.URL, Table: DefaultSite(), Profile: openTestProfile(t, t.TempDir()), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p, err := c.fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p, headers
}

// TestPlainPage: the text goes into the composer that a person could use; calls
// look like the page's own, and carry its token where the cookie is not enough;
// nothing is waited for that the page does not have.
func TestPlainPage(t *testing.T) {
	t.Parallel()
	p, headers := openPlain(t)
	if p.account != "the-person" || p.client.tokenless {
		t.Errorf("account %q, waited for a token: %v", p.account, p.client.tokenless)
	}
	if h := headers(); h.Get("Authorization") != "Bearer the.page's.token" || h.Get("Source") != "web" || len(h.Get("X-Request-Id")) != 36 {
		t.Errorf("headers %v", h)
	}
	if got, err := call[*string](p.ctx, "fill", p.client.options.Table, "the text"); err != nil || got == nil || *got != "the text" {
		t.Errorf("fill: %v, %v", got, err)
	}
	values, err := evaluate(p, `[...document.querySelectorAll("textarea")].map((e) => e.value).join()`)
	if err != nil || values != "twin,twin,twin,twin,the text" {
		t.Errorf("the composers hold %q, %v", values, err)
	}
}

// TestReady is how long a page's scripts are waited for.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state pageState
		after time.Duration // from this age on it is ready, and before it is not
	}{
		"all there":                  {pageState{Scripts: true, Initialised: true, UID: true}, 0},
		"the token never comes":      {pageState{Scripts: true, Initialised: true}, settleTimeout},
		"the scripts come late":      {pageState{Scripts: true}, scriptsTimeout},
		"a page without any scripts": {pageState{}, 3 * time.Second},
	} {
		at := func(age time.Duration) bool {
			p := &page{client: &Client{options: Options{PageAge: 3 * time.Second}}}
			c.state.Age = float64(age.Milliseconds())
			return p.ready(c.state)
		}
		if !at(c.after) || c.after > 0 && at(c.after-time.Millisecond) {
			t.Errorf("%s: at %v %v, just before %v", name, c.after, at(c.after), at(c.after-time.Millisecond))
		}
	}
}

// TestCallsNameTheFrontEnd: what the page's own calls say of its version, ours
// say too.
func TestCallsNameTheFrontEnd(t *testing.T) {
	t.Parallel()
	p, headers := openPlain(t)
	path := p.client.options.Table.Account
	own := fmt.Sprintf(`(async () => { await fetch(%q, {headers: {Version: "0.2.77", Authorization: "x"}}); return ""; })()`, path)
	if _, err := evaluate(p, own); err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if h := headers(); h.Get("Version") != "0.2.77" || h.Get("Authorization") == "x" {
		t.Errorf("headers %v", h)
	}
}
