package qwentest

import (
	"cmp"
	"slices"
	"strings"
)

// Ledger returns an entry for every prompt that reached the site, in the order
// of their arrival.
func (s *Site) Ledger() []Entry { return s.Report().Entries }

// Find returns the entry of a prompt's text; all zero when it never came.
func (s *Site) Find(prompt string) Entry {
	sum := Sum(prompt)
	for _, e := range s.Ledger() {
		if e.Prompt == sum {
			return e
		}
	}
	return Entry{Prompt: sum, Size: len(prompt)}
}

// Report returns the whole ledger.
func (s *Site) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b book
	for _, p := range s.ledger.posts {
		if !p.partial {
			b.entry(p.text).post(p)
		}
	}
	for _, p := range s.ledger.posts {
		if p.partial {
			b.whole(p.text).post(p)
		}
	}
	for _, p := range s.ledger.elsewhere {
		if e := b.known(p.text); e != nil && !slices.Contains(e.Elsewhere, p.chat) {
			e.Elsewhere = append(e.Elsewhere, p.chat)
		}
	}
	for i, text := range b.texts {
		b.entries[i].Accepted = s.ledger.accepted[text]
	}
	slices.SortStableFunc(b.entries, func(x, y *Entry) int { return cmp.Compare(x.Times[0].UnixNano(), y.Times[0].UnixNano()) })
	report := Report{Entries: []Entry{}, Unread: s.ledger.unread, Violations: append([]string{}, s.ledger.violations...)}
	for _, e := range b.entries {
		report.Entries = append(report.Entries, *e)
	}
	return report
}

// book gathers entries; texts and entries run in parallel.
type book struct {
	texts   []string
	entries []*Entry
}

func (b *book) entry(text string) *Entry {
	if i := slices.Index(b.texts, text); i >= 0 {
		return b.entries[i]
	}
	b.texts = append(b.texts, text)
	b.entries = append(b.entries, &Entry{Prompt: Sum(text), Size: len(text)})
	return b.entries[len(b.entries)-1]
}

// known finds the prompt that text is, or is a beginning of (at least eight bytes).
func (b *book) known(text string) *Entry {
	for i, t := range b.texts {
		if t == text || len(text) >= 8 && strings.HasPrefix(t, text) {
			return b.entries[i]
		}
	}
	return nil
}

// whole finds the prompt that a cut body belongs to; failing that the part
// gets an entry of its own.
func (b *book) whole(part string) *Entry {
	for i, t := range b.texts {
		if strings.HasPrefix(t, part) {
			return b.entries[i]
		}
	}
	return b.entry(part)
}

func (e *Entry) post(p posted) {
	e.Posted++
	if p.partial {
		e.Partial++
	}
	if p.chat != "" && !slices.Contains(e.ChatIDs, p.chat) {
		e.ChatIDs = append(e.ChatIDs, p.chat)
	}
	e.RequestIDs = append(e.RequestIDs, p.requestID)
	e.Times = append(e.Times, p.at)
}

// Say adds a message to a chat as another client of its account does, behind the
// chat's last answer; false when there is no such chat.
func (s *Site) Say(chatID, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.live(chatID)
	if ch == nil {
		return false
	}
	parent := ""
	for _, m := range ch.messages {
		if m.role == "assistant" {
			parent = m.id
		}
	}
	ch.add(s.now(), "", parent, text, ch.model, planFor(text, nil, s.options))
	return true
}

// Taken lists the texts that became messages, in the order of their arrival.
func (s *Site) Taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ledger.taken)
}
