package qwentest

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

//go:embed assets
var assets embed.FS

// scripts make up the page's main.js, in this order.
var scripts = []string{"core.js", "api.js", "markdown.js", "view.js", "controls.js", "files.js", "turn.js", "app.js", "boot.js"}

var (
	chatPath  = regexp.MustCompile(`^/c/([0-9a-f-]{36}|guest|new-chat)$`)
	className = regexp.MustCompile(`\.([a-zA-Z][\w-]*)`)
)

// rename gives the class names of MarkupRenamed. The page's scripts do the same.
func rename(names string) string {
	fields := strings.Fields(names)
	for i, name := range fields {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		fields[i] = "x" + strconv.FormatUint(uint64(h.Sum32()), 36)
	}
	return strings.Join(fields, " ")
}

// renamed reports whether class names are ones that nobody has seen.
func (m Markup) renamed() bool { return m == MarkupRenamed || m == MarkupStrange }

// labels are the words of the page.
type labels struct {
	Send, Stop, NewChat, LogIn, SignUp, Placeholder, Greeting string
	Thinking                                                  [3]string // Auto, Thinking, Fast
	Search, Continue                                          string
}

var languages = map[string]labels{
	"en-US": {"Send", "Stop", "New Chat", "Log in", "Sign up", "How can I help you today?", "Hello there", [3]string{"Auto", "Thinking", "Fast"}, "Search", "Continue"},
	"zh-CN": {"发送", "停止", "新建对话", "登录", "注册", "有什么我能帮您的吗？", "你好", [3]string{"自动", "思考", "快速"}, "搜索", "继续生成"},
	"ru-RU": {"Отправить", "Остановить", "Новый чат", "Войти", "Регистрация", "Чем я могу помочь?", "Здравствуйте", [3]string{"Авто", "Размышление", "Быстро"}, "Поиск", "Продолжить"},
}

// page answers everything that is not the API.
func (c *call) page() {
	p := c.r.URL.Path
	switch {
	case strings.HasPrefix(p, "/g/"), p == "/sw.js":
		c.asset(path.Base(p))
	case strings.HasSuffix(p, "/punish"):
		c.asset("punish.html")
	case p == "/_____tmd_____/solve":
		c.site.Clear(Challenge, ChallengeHTML)
		http.SetCookie(c.w, &http.Cookie{Name: "x5sec", Value: uuid.NewString(), Path: "/"})
		c.w.WriteHeader(http.StatusNoContent)
	case p == "/rehearsal-popup":
		c.asset("popup.html")
	case p == "/rehearsal-never.png":
		<-c.r.Context().Done()
	case p == "/", p == "/auth", chatPath.MatchString(p):
		c.endpoint(OnPage, c.document)
	case strings.HasPrefix(p, "/c/"), strings.HasPrefix(p, "/s/"):
		http.Redirect(c.w, c.r, "/", http.StatusFound)
	default:
		http.NotFound(c.w, c.r)
	}
}

func (c *call) asset(name string) {
	parts := []string{name}
	switch name {
	case "main.js":
		parts = scripts
	case "baxiaCommon.js":
		parts = []string{"baxia.js"}
	}
	var raw []byte
	for _, part := range parts {
		text, err := assets.ReadFile("assets/" + part)
		if err != nil {
			http.NotFound(c.w, c.r)
			return
		}
		raw = append(raw, text...)
	}
	if name == "main.css" && c.r.URL.RawQuery == "renamed" {
		raw = className.ReplaceAllFunc(raw, func(b []byte) []byte { return []byte("." + rename(string(b[1:]))) })
	}
	c.w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if strings.HasPrefix(c.r.URL.Path, "/g/") {
		c.w.Header().Set("Cache-Control", "max-age=86400")
	}
	_, _ = c.w.Write(raw)
}

// document serves the server-rendered page, or the way to the login.
func (c *call) document() {
	s := c.site
	s.mu.Lock()
	a, offered := s.who(c.r)
	var user obj
	if a != nil {
		user = s.profile(a)
	}
	s.mu.Unlock()
	auth := c.r.URL.Path == "/auth"
	switch {
	case user != nil && auth:
		http.Redirect(c.w, c.r, "/", http.StatusFound)
		return
	case user == nil && c.options.LoginWall && !auth:
		http.Redirect(c.w, c.r, "/auth?action=signin", http.StatusFound)
		return
	case user != nil:
		c.setToken(user["token"].(string), c.options.TokenLife) // every visit renews the session
	case offered:
		c.setToken("", -time.Second)
	}
	c.pageCookies()
	name := "page.html"
	if auth {
		name = "auth.html"
	}
	c.render(name, user)
}

// pageCookies sets the cookies a visitor gets, as far as they are missing.
func (c *call) pageCookies() {
	for _, name := range []string{"acw_tc", "cna", "cnaui", "aui", "sca", "xlly_s", "_bl_uid", "x-ap", "isg", "tfstk", "ssxmod_itna", "qwen-locale"} {
		if _, err := c.r.Cookie(name); err == nil {
			continue
		}
		value := uuid.NewString()
		switch name {
		case "qwen-locale":
			value = c.options.Language
		case "x-ap":
			value = "ap-southeast-1"
		}
		http.SetCookie(c.w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: 86400 * 365})
	}
}

func (c *call) render(name string, user obj) {
	o := c.options
	class := func(names string) string {
		if o.Markup.renamed() {
			return rename(names)
		}
		return names
	}
	newChat := "sidebar-entry-fixed-list-content"
	if o.Markup != MarkupJun {
		newChat += " sidebar-new-chat"
	}
	words, ok := languages[o.Language]
	if !ok {
		words = languages["en-US"]
	}
	data := obj{
		"language": o.Language, "theme": "light", "models": models(o.Models), "ua": c.r.UserAgent(), "greetingText": words.Greeting,
		"requestId": uuid.NewString(), "qwenThinkingMode": "Auto",
	}
	if user != nil {
		data["user"] = user
	}
	page, err := template.New(name).Funcs(template.FuncMap{"cls": class}).ParseFS(assets, "assets/"+name)
	var out bytes.Buffer
	if err == nil {
		err = page.Execute(&out, obj{
			"Lang": o.Language, "Version": frontEnd, "Renamed": o.Markup.renamed(), "Strange": o.Markup == MarkupStrange, "Jun": o.Markup == MarkupJun,
			"Data": data, "Config": c.pageConfig(words), "L": words, "LoggedIn": user != nil, "NewChatClass": class(newChat),
			"EarlySend": o.SendDuringHydration, "SlowImage": o.SlowImage,
		})
	}
	if err != nil {
		c.html(http.StatusInternalServerError, fmt.Sprintf("render %s: %v", name, err))
		return
	}
	c.html(http.StatusOK, out.String())
}

// pageConfig is what the page's scripts know of the options; milliseconds.
func (c *call) pageConfig(words labels) obj {
	o := c.options
	return obj{
		"version": frontEnd, "labels": words, "models": models(o.Models), "renamed": o.Markup.renamed(), "strange": o.Markup == MarkupStrange, "jun": o.Markup == MarkupJun,
		"ready": o.Ready.Milliseconds(), "hydration": o.Hydration.Milliseconds(), "background": o.Background.Milliseconds(),
		"replace": o.ReplaceOnHydration, "urlBefore": o.URLBefore, "edits": o.Edits, "maxTyped": o.MaxTyped, "pageRetry": o.PageRetry,
		"doubleSubmit": o.DoubleSubmit, "ignoreClicks": o.IgnoreClicks, "autosave": o.Autosave, "askTitle": o.AskTitle, "popup": o.Popup,
		"serviceWorker": o.ServiceWorker, "draft": o.Draft, "draftDelay": o.DraftDelay.Milliseconds(), "dialog": o.Dialog,
		"staleChat": o.StaleChat.Milliseconds(), "lateRender": o.LateRender.Milliseconds(), "blockInput": o.BlockInput.Milliseconds(),
		"earlyStop": o.EarlyStop.Milliseconds(), "stopStays": o.StopStays, "drawByFrame": o.DrawByFrame, "virtual": o.Virtual,
		"guestPopup": o.GuestPopup, "continues": o.Continues, "forget": o.ForgetChoices, "omits": o.Omits, "noResume": o.NoResume, "filesMenu": o.FilesMenu, "fileSend": o.FileSend, "follows": o.Follows, "overlay": o.Overlay, "decoy": []obj{
			{"id": uuid.NewString(), "role": "user", "text": decoyPrompt},
			{"id": uuid.NewString(), "role": "assistant", "answer": Answer(decoyPrompt), "titles": []string{}, "done": true, "error": ""},
		},
	}
}
