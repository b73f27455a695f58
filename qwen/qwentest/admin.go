package qwentest

import (
	"io"
	"net/http"
	"strings"
)

// serveAdmin is the door for tests that run the site in another process, under
// a path the real site does not have:
//
//	GET  /_rehearsal/ledger             the [Report]
//	GET  /_rehearsal/requests           the request log
//	GET  /_rehearsal/login?token=T      sets the cookie and goes to /; without token the default account's, email=E another's
//	GET  /_rehearsal/token[?email=E|expired]   a token, as text
//	POST /_rehearsal/fault              a [Fault] as JSON, or an array of them; GET shows those that stand
//	POST /_rehearsal/clear[?kind=K]     ends faults
//	POST /_rehearsal/options            changes [Options] named in a JSON object; GET shows them
//	POST /_rehearsal/logout[?email=E]   kills the account's tokens
//	GET  /_rehearsal/answer?prompt=P    what [Answer] says
func (s *Site) serveAdmin(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/_rehearsal"), "/")
	q := r.URL.Query()
	email := q.Get("email")
	if email == "" {
		email = DefaultAccount
	}
	switch name {
	case "ledger":
		writeJSON(w, s.Report())
	case "requests":
		writeJSON(w, s.Requests())
	case "answer":
		_, _ = io.WriteString(w, Answer(q.Get("prompt")))
	case "login":
		token := q.Get("token")
		if token == "" {
			token = s.TokenFor(email)
		}
		http.SetCookie(w, &http.Cookie{Name: "token", Value: token, Path: "/", MaxAge: 86400 * 30, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, "/", http.StatusFound)
	case "token":
		if q.Has("expired") {
			_, _ = io.WriteString(w, s.ExpiredToken())
			return
		}
		_, _ = io.WriteString(w, s.TokenFor(email))
	case "fault", "options", "clear", "logout":
		s.serveChange(w, r, name, email)
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(v))
}

// serveChange handles what alters the site.
func (s *Site) serveChange(w http.ResponseWriter, r *http.Request, name, email string) {
	if r.Method != http.MethodPost {
		if name == "options" {
			writeJSON(w, readable(s.Options()))
			return
		}
		writeJSON(w, s.standing())
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		switch name {
		case "fault":
			err = s.FaultJSON(raw)
		case "options":
			err = s.ConfigureJSON(raw)
		case "clear":
			if kind := r.URL.Query().Get("kind"); kind != "" {
				s.Clear(Kind(kind))
			} else {
				s.Clear()
			}
		case "logout":
			s.LogOut(email)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
