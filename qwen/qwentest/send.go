package qwentest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// sendBody is what the completions endpoint reads.
type sendBody struct {
	ChatID      string  `json:"chat_id"`
	ParentID    *string `json:"parent_id"`
	ParentCamel *string `json:"parentId"`
	ResponseID  string  `json:"response_id"`
	Mode        string  `json:"chat_mode"`
	Model       string  `json:"model"`
	Messages    []struct {
		FID           string     `json:"fid"`
		Role          string     `json:"role"`
		Content       string     `json:"content"`
		Files         []sentFile `json:"files"`
		FeatureConfig struct {
			Thinking *bool  `json:"thinking_enabled"`
			Mode     string `json:"thinking_mode"`
			Search   bool   `json:"auto_search"`
		} `json:"feature_config"`
	} `json:"messages"`
}

func (b *sendBody) parent() string {
	for _, p := range []*string{b.ParentID, b.ParentCamel} {
		if p != nil && *p != "" {
			return *p
		}
	}
	return ""
}

// send is POST /api/v2/chat/completions.
func (c *call) send() {
	s := c.site
	var first []byte
	if early := s.take(OnSend, "", c.reused(), true); len(early) > 0 {
		c.meets(early)
		first = c.strikeEarly(early[0])
	}
	rest, err := io.ReadAll(c.r.Body)
	raw := append(first, rest...)
	texts := s.notePost(c.r, raw, err != nil)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	text := strings.Join(texts, "\n")
	if text == "" {
		text = s.promptsOf(c.r)
	}
	c.meets(append(s.take(OnSend, text, c.reused(), false), s.wished(OnSend, text, c.reused())...))
	if c.refusesHeaders() {
		return
	}
	var body sendBody
	if err := json.Unmarshal(raw, &body); err != nil {
		c.refuse(http.StatusBadRequest, "RequestValidationError", []string{"Invalid JSON: " + err.Error()})
		return
	}
	if len(body.Messages) == 0 && body.ResponseID+body.parent() != "" {
		c.goOn(body.ChatID, body.ResponseID, body.parent())
		return
	}
	if c.lost() && c.strike() {
		return
	}
	turn, ok := c.accept(&body)
	if !ok || c.strike() {
		return
	}
	c.stream(turn)
}

// lost tells whether a fault takes the place of acceptance.
func (c *call) lost() bool {
	for _, f := range c.faults {
		switch f.Kind {
		case LoseRST, LoseFIN:
			return true
		case Hang, GoAway, RefuseStream, Status, Quota, TokenQuota, Challenge, ChallengeHTML, Busy, ServerBusy, Unauthorized, Internal, Garbage, NotFound:
			if !f.Take {
				return true
			}
		default:
			if _, ok := shapeOf(f.Kind); ok && !f.Take {
				return true
			}
		}
	}
	return false
}

// strikeEarly strikes before the whole body is read. What it returns was read of
// a body that is to be handled after all.
func (c *call) strikeEarly(f Fault) []byte {
	var part []byte
	partial := f.Kind == PartialRST || f.Kind == PartialFIN || f.Kind == PartialHang || f.Kind == PartialSlow
	if partial {
		part = make([]byte, f.n(int(max(c.r.ContentLength/2, 1))))
		n, _ := io.ReadFull(c.r.Body, part)
		part = part[:n]
	}
	if f.Kind == UnreadSlow || f.Kind == PartialSlow {
		c.sleep(f.Delay)
		return part
	}
	if partial {
		c.site.notePost(c.r, part, true)
	} else {
		c.site.mu.Lock()
		c.site.ledger.unread++
		c.site.mu.Unlock()
	}
	if f.Kind == UnreadHang || f.Kind == PartialHang {
		c.hang()
	}
	cut(c.r, f.Kind == UnreadRST || f.Kind == PartialRST, true)
	return nil
}

// turn is a message that was accepted.
type turn struct {
	chat    *chat
	user    *message
	answers []*message
	from    int // the first frame of the answers that is new
}

// accept checks a message and puts it into its chat.
func (c *call) accept(body *sendBody) (turn, bool) {
	s := c.site
	s.mu.Lock()
	refusal := c.check(body)
	var files []File
	if refusal == nil {
		owner, _ := c.owner()
		files, refusal = c.attached(owner, body.Messages[0].Files)
	}
	if refusal != nil {
		s.mu.Unlock()
		refusal()
		return turn{}, false
	}
	defer s.mu.Unlock()
	now := s.now()
	ch, m := s.chats[body.ChatID], body.Messages[0]
	id := ""
	if c.options.KeepFID {
		id = m.FID
	}
	plans := []plan{planFor(m.Content, c.faults, c.options)}
	if c.faults.has(Dual) {
		second := planFor(m.Content, nil, c.options)
		second.unlisted = c.options.DualAsList
		plans = append(plans, second)
	}
	user, answers := ch.add(now, id, body.parent(), m.Content, body.Model, plans...)
	if f, ok := c.faults.get(Late); ok {
		for _, m := range append([]*message{user}, answers...) {
			m.visible = now.Add(f.Delay)
		}
	}
	if f, ok := c.faults.get(Gone); ok {
		ch.gone = now.Add(f.Delay)
	}
	if ch.title == "New Chat" {
		ch.title = titleOf(m.Content)
	}
	if s.ledger.accepted == nil {
		s.ledger.accepted = map[string]int{}
	}
	s.ledger.accepted[m.Content]++
	if s.ledger.asked == nil {
		s.ledger.asked = map[string]Asked{}
	}
	s.ledger.asked[m.Content] = Asked{body.Model, m.FeatureConfig.Mode, m.FeatureConfig.Search}
	if s.ledger.files == nil {
		s.ledger.files = map[string][]File{}
	}
	s.ledger.files[m.Content] = files
	s.ledger.taken = append(s.ledger.taken, m.Content)
	return turn{chat: ch, user: user, answers: answers}, true
}

func titleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(first); len(runes) > 40 {
		first = string(runes[:40])
	}
	return first
}
