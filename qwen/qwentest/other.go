package qwentest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// displayName is a model's name on the page: qwen3.8-max is Qwen3.8-Max.
func displayName(id string) string {
	parts := strings.Split(id, "-")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "-")
}

// models describes the models as the API and the page's own data do.
func models(ids []string) []obj {
	var out []obj
	for _, id := range ids {
		out = append(out, obj{
			"id": id, "name": displayName(id), "object": "model", "owned_by": "qwen",
			"info": obj{
				"id": id, "is_active": true, "is_visitor_active": !strings.Contains(id, "max"),
				"meta": obj{
					"description": "A model of the rehearsal site", "max_context_length": 1_000_000, "max_summary_generation_length": 65_536,
					"capabilities": obj{"vision": true, "document": true, "thinking": true, "search": true},
					"abilities":    obj{"thinking": 4}, "auto_thinking": true, "auto_search": true, "thinking_format": "summary",
					"think_skip": obj{"enable": !strings.HasPrefix(id, "qwen3.8-max")},
					"chat_type":  []string{"t2t", "search", "deep_research"}, "modality": []string{"text"}, "mcp": []string{},
				},
			},
		})
	}
	return out
}

// profile describes an account with a fresh token, so that a session slides.
func (s *Site) profile(a *account) obj {
	token := s.token(a, s.options.TokenLife)
	return obj{
		"token": token, "token_type": "Bearer", "expires_at": s.now().Add(s.options.TokenLife).Unix(),
		"id": a.id, "email": a.email, "name": a.name, "role": "user", "tier": "normal",
		"permissions": obj{"workspace": obj{}, "chat": obj{"file_upload": true, "delete": true, "edit": true, "temporary": true}},
	}
}

// auths is GET /api/v1/auths/.
func (c *call) auths() {
	c.site.mu.Lock()
	a, _ := c.site.who(c.r)
	var data obj
	if a != nil {
		data = c.site.profile(a)
	}
	c.site.mu.Unlock()
	switch {
	case data != nil:
		c.setToken(data["token"].(string), c.options.TokenLife)
		c.json(http.StatusOK, data)
	case c.options.Auths200:
		c.json(http.StatusOK, obj{"detail": "401 Unauthorized"})
	default:
		c.json(http.StatusUnauthorized, obj{"detail": "401 Unauthorized"})
	}
}

func (c *call) setToken(token string, life time.Duration) {
	http.SetCookie(c.w, &http.Cookie{Name: "token", Value: token, Path: "/", MaxAge: int(life.Seconds()), SameSite: http.SameSiteLaxMode})
}

// signin is POST /api/v2/auths/signin; the password comes as its sha256.
func (c *call) signin() {
	var body struct{ Email, Password string }
	sum := sha256.Sum256([]byte(Password))
	err := json.NewDecoder(c.r.Body).Decode(&body)
	if err != nil || body.Email == "" || body.Password != hex.EncodeToString(sum[:]) {
		c.refuse(http.StatusBadRequest, "Bad_Request", "The email or password provided is incorrect.")
		return
	}
	token := c.site.TokenFor(body.Email)
	c.setToken(token, c.options.TokenLife)
	c.ok(obj{"token": token, "token_type": "Bearer"})
}

// other is the rest of the API: what the page asks at start and in the
// background, and drafts and titles.
func (c *call) other() {
	path := c.r.URL.Path
	switch {
	case path == "/api/models":
		c.json(http.StatusOK, obj{"data": models(c.options.Models)})
	case path == "/api/v2/models/" || path == "/api/v2/models":
		c.ok(obj{"data": models(c.options.Models)})
	case path == "/api/v2/configs/":
		c.ok(obj{"cdn_version": frontEnd, "status": true, "name": "Qwen Studio"})
	case path == "/api/v2/auths/signin" || path == "/api/v1/auths/signin":
		c.signin()
	case path == "/api/v2/users/status":
		c.ok(true)
	case strings.HasPrefix(path, "/api/v2/configs/"), strings.HasPrefix(path, "/api/v2/tts/"), strings.HasPrefix(path, "/api/v2/users/"):
		c.ok(obj{})
	case path == "/api/v2/projects":
		c.ok([]obj{})
	case path == "/api/v2/drafts", path == "/api/v2/chats/title":
		c.ok(obj{"status": true})
	default:
		c.refuse(http.StatusNotFound, "Not_Found", path+" is not exist")
	}
}
