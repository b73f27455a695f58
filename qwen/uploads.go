package qwen

import (
	"encoding/json"
	"time"
)

// upload is a file on its way to the site, as the page's own calls tell.
type upload struct {
	id, name string
	parsed   bool
}

// uploads are those of one page, in the order in which they began.
type uploads struct {
	list   []upload
	failed error // the site's word about one of them
}

// noteFiles reads the replies to the page's calls about files.
func (g *gate) noteFiles(p paused) {
	if p.Request.Method != "POST" || p.Status == nil {
		return
	}
	token, parse, status := g.isAt(p, g.path.FileToken), g.isAt(p, g.path.FileParse), g.isAt(p, g.path.FileStatus)
	if !token && !parse && !status {
		return
	}
	body, err := g.replyBody(p)
	if err != nil {
		return // the page sees no more of it
	}
	asked, answer := g.body(p), reply{Status: *p.Status, Body: body}
	g.mu.Lock()
	defer g.mu.Unlock()
	var name string
	if token {
		var what struct {
			Name string `json:"filename"`
		}
		_ = json.Unmarshal(asked, &what)
		name = what.Name
	}
	if err := answer.check(opFiles, time.Now()); err != nil {
		if g.files.failed == nil {
			g.files.failed = aboutFile(err, name)
		}
		return
	}
	switch {
	case token:
		if made, err := decode[struct {
			ID string `json:"file_id"`
		}](answer, opFiles); err == nil {
			g.files.list = append(g.files.list, upload{id: made.ID, name: name})
		}
	case status:
		g.noteParsed(asked, answer)
	}
}

// noteParsed reads how far the site is with files; the lock is held.
func (g *gate) noteParsed(asked []byte, answer reply) {
	var what struct {
		IDs []string `json:"file_id_list"`
	}
	_ = json.Unmarshal(asked, &what)
	list, err := decode[[]struct {
		Status word `json:"status"`
	}](answer, opFiles)
	if err != nil || len(list) != len(what.IDs) {
		return
	}
	for i, id := range what.IDs {
		for j := range g.files.list {
			f := &g.files.list[j]
			if f.id != id {
				continue
			}
			switch list[i].Status {
			case "success":
				f.parsed = true
			case "failed", "fail", "error":
				if g.files.failed == nil {
					e := fail(KindInvalid, opFiles, "the site can't read the file %q", f.name)
					e.Advice = adviceFile
					g.files.failed = e
				}
			}
		}
	}
}

const adviceFile = "leave the file away, or send it in another form; nothing was sent"

// aboutFile is what a refusal of a file means: what is not known to be about the
// account or the network is about that file.
func aboutFile(err error, name string) error {
	e := *asError(err, KindUnreachable, opFiles)
	if e.Said && (e.Kind == KindSiteChanged || e.Kind == KindGone || e.Kind == KindGeneration || e.Kind == KindFiltered) {
		said := fail(KindInvalid, opFiles, "the site refuses the file %q: %w", name, e.Err)
		said.Advice = adviceFile
		return said
	}
	return &e
}

// uploading is how many files the page began to send, how many of them are there
// and parsed, and the site's word if it refused one.
func (g *gate) uploading() (began, parsed int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.files.list {
		if f.parsed {
			parsed++
		}
	}
	return len(g.files.list), parsed, g.files.failed
}
