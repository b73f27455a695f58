package qwen

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Site is everything the driver takes for granted about the site: paths,
// selectors, the names that its scripts leave in the page. Each list is tried
// in order, the newest known form first, then forms that survive a change of
// class names (aria-label, role).
//
// Source: public clients and page dumps of June to September 2026 (front end
// 0.2.61 to 0.2.87). The page changes every few weeks; nothing outside this
// file and js/ may name a selector or a path.
type Site struct {
	Home string `json:"home"` // path of a page with an empty composer
	Auth string `json:"auth"` // path of the login page

	NewChat     string `json:"new_chat"`    // path: POST makes a chat
	Completions string `json:"completions"` // path: POST carries a prompt
	StopAnswer  string `json:"stop_answer"` // path: POST ends the answer of ?chat_id=
	Chat        string `json:"chat"`        // path prefix: GET reads one chat
	List        string `json:"list"`        // path: GET lists chats, ?page=N
	Account     string `json:"account"`     // path: GET says who is logged in
	FileToken   string `json:"file_token"`  // path: POST gives a place for a file
	FileParse   string `json:"file_parse"`  // path: POST has a file read
	FileStatus  string `json:"file_status"` // path: POST tells how far that is

	Composer []string `json:"composer"`       // where the text goes
	Send     []string `json:"send"`           // the send button
	Stop     []string `json:"stop"`           // the stop button
	Avatar   []string `json:"avatar"`         // seen only when logged in
	LogIn    []string `json:"log_in"`         // seen only when logged out
	Model    []string `json:"model"`          // opens the list of models, and shows the chosen one
	Models   []string `json:"models"`         // one row of that list
	Thinking []string `json:"thinking"`       // opens the list of ways to think, and shows the chosen one
	Thoughts []string `json:"thoughts"`       // one row of that list: Auto, Thinking, Fast, in this order
	Search   []string `json:"search"`         // the switch for searching the web
	Modes    []string `json:"modes"`          // opens the menu in which that switch may be
	Files    []string `json:"files"`          // the input that takes files; it may be hidden
	Cards    []string `json:"cards"`          // what the composer shows of one file
	Continue []string `json:"continue"`       // the button that goes on with an answer that was cut
	Words    []string `json:"continue_words"` // what such a button says, if no selector finds it
	Chooser  []string `json:"chooser"`        // the question which of two answers is better, which blocks the composer
	Punish   []string `json:"punish"`         // a check that asks for a person
	Blocked  []string `json:"blocked"`        // marks of a whole page that asks for a person

	Data  string   `json:"data"`  // global with the page's own data (user, models)
	Ready []string `json:"ready"` // globals that exist once the scripts have initialised

	Scripts []string `json:"scripts"` // marks of a page that has such scripts

	MaxChars int `json:"max_chars"` // longer texts draw the stub of a check; 0: none is known
}

// MaxChars is the longest text, in characters (Unicode code points), that the
// site is known to take.
//
// Source: two public clients that measured it in August 2026. Above about
// 100,000 characters in the message the site answers with the stub of its
// check, or not at all for minutes.
const MaxChars = 100_000

// DefaultSite is the site as publicly known.
func DefaultSite() Site {
	return Site{
		Home:        "/",
		Auth:        "/auth",
		NewChat:     "/api/v2/chats/new",
		Completions: "/api/v2/chat/completions",
		StopAnswer:  "/api/v2/chat/completions/stop",
		Chat:        "/api/v2/chats/",
		List:        "/api/v2/chats/",
		Account:     "/api/v1/auths/",
		FileToken:   "/api/v2/files/getstsToken",
		FileParse:   "/api/v2/files/parse",
		FileStatus:  "/api/v2/files/parse/status",
		Composer: []string{
			"textarea.message-input-textarea",
			".message-input-container textarea",
			"#dropzone-container textarea",
			"textarea#chat-input",
			"textarea[aria-label*='message' i], textarea[placeholder*='help' i]",
			"main textarea, form textarea",
			"textarea",
		},
		Send: []string{
			".message-input-right-button-send .chat-prompt-send-button button.send-button",
			"button.send-button",
			"button[aria-label*='send' i]",
			"button[aria-label*='发送'], button[aria-label*='Отправить' i]",
			"#send-message-button",
			"[role=button][aria-label*='send' i]",
			"form button[type=submit]",
		},
		Stop: []string{
			".chat-prompt-send-button button.stop-button",
			"button.stop-button",
			"button[aria-label*='stop' i], button[aria-label*='停止'], button[aria-label*='Остановить' i]",
		},
		Avatar: []string{
			"button:has(img[alt='User profile'])",
			".user-menu-btn",
			"[aria-label='User menu' i]",
		},
		LogIn: []string{
			"button.header-right-auth-button, a[href^='/auth']",
		},
		Model: []string{
			"[aria-label='Select Model' i]",
			".wms-trigger",
			".header-left .ant-dropdown-trigger:has([class*=model-selector])",
			"header .ant-dropdown-trigger",
		},
		Models: []string{
			".wms-list__item",
			"[role=listbox] [role=option]",
			".ant-dropdown-menu-item",
		},
		Thinking: []string{
			".qwen-thinking-selector .qwen-select-thinking",
			".qwen-select-thinking",
			"[aria-label='Thinking' i]",
		},
		Thoughts: []string{
			".qwen-thinking-selector .ant-select-item-option",
			".ant-select-item-option",
		},
		Search: []string{
			".web-search-btn",
			"[data-menu-id$='-search']",
			"[role=switch][aria-label*='search' i], button[aria-pressed][aria-label*='search' i]",
		},
		Modes: []string{
			"[role=button][aria-label='Select Mode' i]",
			".mode-select .mode-select-open",
		},
		Files: []string{
			"#filesUpload",
			".message-input-container input[type=file]",
			"input[type=file]",
		},
		Cards: []string{
			".message-input-column-file .fileitem-btn",
			".fileitem-btn",
			".message-input-container [class*=fileitem]",
		},
		Continue: []string{
			"button[class*='continue' i]",
			"button[aria-label*='continue' i]",
		},
		Words: []string{"Continue", "Continue generating", "继续", "继续生成", "继续回答", "Продолжить", "Продолжить генерацию"},
		Chooser: []string{
			".smrm .smrm-card__prefer-btn",
			".qwen-chat-message-dual-message",
		},
		Punish: []string{
			"iframe#baxia-dialog-content",
			"iframe[src*='_____tmd_____/punish']",
			".baxia-dialog",
			"#aliyunCaptcha-window-embed.aliyunCaptcha-show",
		},
		Blocked: []string{
			"meta[name='aliyun_waf_aa'], meta[name='aliyun_waf_bb']",
			"#waf_nc_block, #WAF_NC_WRAPPER, .waf-nc-wrapper, #nocaptcha, #waf-nc-traceid",
		},
		Data:    "__prerendered_data",
		Ready:   []string{"baxiaCommon", "__baxia__.baxiaPromptInit|baxiaInitialized"},
		Scripts: []string{"script[src*='baxia' i]", "script[src*='/AWSC/' i]", "script[src*='fireyejs' i]"},

		MaxChars: MaxChars,
	}
}

// uuidPattern is the shape of every chat id on the site.
const uuidLength = 36

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// origin is the one place that the driver may open.
type origin struct {
	base *url.URL // scheme and host only
}

// parseOrigin reads the --site address. Plain http is for loopback only.
func parseOrigin(site string) (origin, error) {
	const op = "read the site's address"
	u, err := url.Parse(strings.TrimSpace(site))
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return origin{}, fail(KindInvalid, op, "%q is not an http(s) address", site)
	case u.User != nil || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "":
		return origin{}, fail(KindInvalid, op, "%q has more than a scheme, a host and a port", site)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return origin{}, fail(KindInvalid, op, "%q: plain http is allowed for this machine only; use https", site)
	}
	// The browser never spells out a scheme's own port.
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":"+ports[u.Scheme])
	return origin{&url.URL{Scheme: u.Scheme, Host: strings.TrimSuffix(host, ":")}}, nil
}

var ports = map[string]string{"http": "80", "https": "443"}

// loopback reports whether the site runs on this machine.
func (o origin) loopback() bool { return isLoopback(o.base.Hostname()) }

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// hostPort is the site's host and port as the proxy is asked for it.
func (o origin) hostPort() string {
	port := o.base.Port()
	if port == "" {
		port = ports[o.base.Scheme]
	}
	return net.JoinHostPort(o.base.Hostname(), port)
}

// url joins the origin and a path (which may carry a query).
func (o origin) url(path string) string { return o.base.String() + path }

// owns reports whether the address is of this origin.
func (o origin) owns(u *url.URL) bool {
	return u.Scheme == o.base.Scheme && strings.EqualFold(u.Host, o.base.Host)
}

// hosts reports whether the address names this origin's host and port, in
// whatever scheme.
func (o origin) hosts(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.EqualFold(u.Host, o.base.Host)
}

// at reports whether a page's address lies on this origin.
func (o origin) at(href string) bool {
	u, err := url.Parse(href)
	return err == nil && o.owns(u) && u.User == nil
}

// chatAddress is the address of a chat as it goes into the marker.
func (o origin) chatAddress(id string) string { return o.url("/c/" + id) }

// CleanAddress returns the address of a chat of the site as it may be opened, or
// an error of the kind invalid for any other address. A fragment is left out.
func CleanAddress(site, address string) (string, error) {
	o, err := parseOrigin(site)
	if err != nil {
		return "", err
	}
	id, err := o.chatID(address)
	if err != nil {
		return "", err
	}
	return o.chatAddress(id), nil
}

// chatID returns the chat's id from an address, which must be this site's
// origin with the path /c/<uuid> and nothing else: whoever can write the
// folder must not be able to steer a logged-in browser.
func (o origin) chatID(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err == nil && o.owns(u) && u.User == nil && u.RawQuery == "" {
		if id, ok := strings.CutPrefix(u.Path, "/c/"); ok && uuidPattern.MatchString(id) {
			return strings.ToLower(id), nil
		}
	}
	e := fail(KindInvalid, "open the chat", "the address %q is not a chat of %s", address, o.base)
	e.Advice = "if it is another site's, call with that --site; else correct the .md.url"
	return "", e
}
