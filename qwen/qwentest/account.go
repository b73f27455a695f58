package qwentest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// DefaultAccount is the e-mail address of the account that [Site.Token] logs
// in; Password is every account's password on the login page.
const (
	DefaultAccount = "person@example.org"
	Password       = "rehearsal"
)

type account struct {
	id, email, name string
	passwordChange  int64 // tokens that carry an older value are dead
}

// claims is the payload of the site's login token.
type claims struct {
	ID                 string `json:"id"`
	LastPasswordChange int64  `json:"last_password_change"`
	Exp                int64  `json:"exp"`
}

const jwtHeader = `{"alg":"HS256","typ":"JWT"}`

func (s *Site) sign(c claims) string {
	payload, _ := json.Marshal(c) // a struct of a string and two numbers
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString([]byte(jwtHeader)) + "." + enc.EncodeToString(payload)
	return signed + "." + enc.EncodeToString(s.mac(signed))
}

func (s *Site) mac(signed string) []byte {
	m := hmac.New(sha256.New, s.secret)
	m.Write([]byte(signed))
	return m.Sum(nil)
}

// Token returns a login token of the default account, valid for 30 days.
func (s *Site) Token() string { return s.TokenFor(DefaultAccount) }

// TokenFor returns a login token of the account with this e-mail address,
// which is made if it does not exist.
func (s *Site) TokenFor(email string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token(s.account(email), s.options.TokenLife)
}

// ExpiredToken returns a token of the default account that ended an hour ago.
func (s *Site) ExpiredToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token(s.account(DefaultAccount), -time.Hour)
}

func (s *Site) token(a *account, life time.Duration) string {
	return s.sign(claims{ID: a.id, LastPasswordChange: a.passwordChange, Exp: s.now().Add(life).Unix()})
}

// account finds or makes an account; s.mu is held.
func (s *Site) account(email string) *account {
	for _, a := range s.accounts {
		if a.email == email {
			return a
		}
	}
	name, _, _ := strings.Cut(email, "@")
	a := &account{id: uuid.NewString(), email: email, name: name, passwordChange: s.now().Unix()}
	s.accounts[a.id] = a
	return a
}

// LogOut kills all tokens of an account that were given out so far, as a
// change of the password does.
func (s *Site) LogOut(email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account(email).passwordChange++
}

// presented returns the token a request carries: the Authorization header,
// else the cookie.
func presented(r *http.Request) string {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && bearer != "" {
		return bearer
	}
	if c, err := r.Cookie("token"); err == nil {
		return c.Value
	}
	return ""
}

// who returns the account a request is logged in as; offered tells whether it
// carried a token at all, valid or not. s.mu is held.
func (s *Site) who(r *http.Request) (a *account, offered bool) {
	token := presented(r)
	if token == "" {
		return nil, false
	}
	if s.options.Guest {
		return nil, true
	}
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 {
		return nil, true
	}
	sum, err := base64.RawURLEncoding.DecodeString(token[cut+1:])
	if err != nil || !hmac.Equal(sum, s.mac(token[:cut])) {
		return nil, true
	}
	_, payload, _ := strings.Cut(token[:cut], ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	var c claims
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Exp <= s.now().Unix() {
		return nil, true
	}
	a = s.accounts[c.ID]
	if a == nil || a.passwordChange != c.LastPasswordChange {
		return nil, true
	}
	return a, true
}
