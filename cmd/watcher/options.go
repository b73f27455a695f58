package main

import (
	"fmt"
	"strings"
	"time"

	"watcher/watch/frontmatter"
)

// optionsStatus is what a prompt's front matter asks for, with the names that
// it has there.
type optionsStatus struct {
	Model     string    `json:"model,omitempty"`
	Thinking  string    `json:"thinking,omitempty"`
	Search    string    `json:"search,omitempty"`
	Chat      string    `json:"chat,omitempty"`
	Attach    []string  `json:"attach,omitempty"`
	Engine    string    `json:"engine,omitempty"`
	SHA256    string    `json:"sha256,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	NotBefore time.Time `json:"not-before,omitzero"`
	Expire    string    `json:"expire,omitempty"`
}

// optionsOf is nil for a prompt that asks for nothing.
func optionsOf(o frontmatter.Options) *optionsStatus {
	if o.IsZero() {
		return nil
	}
	s := &optionsStatus{Model: o.Model, Thinking: o.Thinking, Search: o.Search, Chat: o.Chat, Attach: o.Attach,
		Engine: o.Engine, SHA256: o.SHA256, Bytes: o.Bytes, NotBefore: o.NotBefore}
	if o.Expire > 0 {
		s.Expire = o.Expire.String()
	}
	return s
}

// String is the options on one line.
func (s *optionsStatus) String() string {
	var list []string
	put := func(key, value string) {
		if value != "" {
			list = append(list, key+" "+value)
		}
	}
	put("model", s.Model)
	put("thinking", s.Thinking)
	put("search", s.Search)
	put("chat", s.Chat)
	put("attach", strings.Join(s.Attach, " and "))
	put("engine", s.Engine)
	put("sha256", s.SHA256)
	if s.Bytes > 0 {
		put("bytes", fmt.Sprint(s.Bytes))
	}
	if !s.NotBefore.IsZero() {
		put("not-before", s.NotBefore.Local().Format(time.DateTime))
	}
	put("expire", s.Expire)
	return strings.Join(list, ", ")
}
