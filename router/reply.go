package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// maxReply bounds a reply: far above any answer, below what hurts this machine.
const maxReply = 64 << 20

// answer is what was read of a reply so far.
type answer struct {
	b      strings.Builder
	finish string // the reply's finish_reason; "" as long as there was none
	ended  func() // told when it is there
}

// text is the answer without thinking that some endpoints put before it, between
// <think> and </think>. Thinking that never ends is no answer.
func (a *answer) text() string {
	s := a.b.String()
	begin := strings.TrimLeft(s, " \t\r\n")
	if !strings.HasPrefix(begin, "<think>") {
		return s
	}
	_, rest, _ := strings.Cut(begin, "</think>")
	return strings.TrimLeft(rest, "\r\n")
}

// read takes a reply whose status says that all is well. Its error is an *Error
// for what the reply says, and anything else for a body that broke off. ended is
// called when nothing of worth can follow.
func read(reply *http.Response, ended func()) (a *answer, err error) {
	a = &answer{ended: ended}
	kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	body := &limited{ReadCloser: reply.Body, left: maxReply}
	switch {
	case reply.StatusCode/100 == 3:
		e := broken(KindSiteChanged, reply.StatusCode, "sends its callers to another address (%d)", reply.StatusCode)
		e.refused, e.hint = true, "name the right address in --fallback; the key goes nowhere else"
		return a, e
	case reply.StatusCode != http.StatusOK:
		return a, broken(KindSiteChanged, reply.StatusCode, "says %d %s", reply.StatusCode, http.StatusText(reply.StatusCode))
	case kind == "text/event-stream":
		err = a.stream(&http.Response{Header: reply.Header, Body: body})
	case kind == "application/json":
		err = a.whole(body)
	default:
		head := make([]byte, 200)
		n, _ := io.ReadFull(body, head)
		return a, broken(KindSiteChanged, reply.StatusCode, "replies with %q, which is no completion%s",
			reply.Header.Get("Content-Type"), words(string(head[:n])))
	}
	if err == nil {
		err = a.verdict()
	}
	return a, err
}

// stream reads server-sent events until the answer ends.
func (a *answer) stream(reply *http.Response) error {
	events := ssestream.NewDecoder(reply)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return nil
		}
		if e := said(data); e != nil || events.Event().Type == "error" {
			return failed(e, data)
		}
		var chunk openai.ChatCompletionChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return broken(KindGeneration, http.StatusOK, "sent an event that is no part of a completion: %v", err)
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			if err := a.add(c.Delta.Content, c.Delta.Refusal, c.FinishReason); err != nil {
				return err
			}
		}
	}
	if err := events.Err(); err != nil && a.finish == "" {
		return err
	}
	return nil // what broke after the answer's end is none of its business
}

// whole reads one JSON object.
func (a *answer) whole(body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if e := said(data); e != nil {
		return failed(e, data)
	}
	var c openai.ChatCompletion
	if err := json.Unmarshal(data, &c); err != nil {
		return broken(KindGeneration, http.StatusOK, "sent a reply that is no whole completion: %v", err)
	}
	if len(c.Choices) == 0 {
		return nil
	}
	first := c.Choices[0]
	return a.add(first.Message.Content, first.Message.Refusal, first.FinishReason)
}

// add takes one part. Text that comes after the answer's end is a reply that is
// not understood.
func (a *answer) add(content, refusal, finish string) error {
	switch {
	case refusal != "":
		return broken(KindFiltered, http.StatusOK, "refuses%s", words(refusal))
	case content != "" && a.finish != "":
		return broken(KindGeneration, http.StatusOK, "went on after the end of its answer")
	}
	a.b.WriteString(content)
	if finish != "" {
		a.finish = finish
		a.ended()
	}
	return nil
}

// verdict says whether what came is a whole answer.
func (a *answer) verdict() error {
	empty := strings.TrimSpace(a.text()) == ""
	switch {
	case a.finish == "content_filter":
		return broken(KindFiltered, http.StatusOK, "filtered the answer (finish_reason content_filter)")
	case a.finish == "length":
		return broken(KindGeneration, http.StatusOK, "cut the answer off at its length limit (finish_reason length)")
	case a.finish == "" && empty:
		return broken(KindGeneration, http.StatusOK, "sent no answer")
	case a.finish == "":
		return broken(KindGeneration, http.StatusOK, "broke off its answer: it ends without a finish_reason")
	case a.finish != "stop":
		return broken(KindGeneration, http.StatusOK, "ended its answer with %s", fmt.Sprintf("finish_reason %q", a.finish))
	case empty:
		return broken(KindGeneration, http.StatusOK, "sent an empty answer")
	}
	return nil
}

// fault is the error that a reply can hold although its status says 200.
type fault struct {
	Message string `json:"message"`
	Code    any    `json:"code"`
	Type    string `json:"type"`
}

// said finds the error in a reply's object; nil when it holds none.
func said(data []byte) *fault {
	var holder struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &holder) != nil || len(holder.Error) == 0 || string(holder.Error) == "null" {
		return nil
	}
	var f fault
	if json.Unmarshal(holder.Error, &f) == nil {
		return &f
	}
	if json.Unmarshal(holder.Error, &f.Message) != nil {
		f.Message = string(holder.Error)
	}
	return &f
}

// failed is an error that came inside a reply. Something was begun by then, so
// it is the job's end whatever the reason is called.
func failed(f *fault, data []byte) *Error {
	if f == nil {
		f = &fault{Message: string(data)}
	}
	kind := KindGeneration
	if code := fmt.Sprint(f.Code); strings.Contains(code, "content_filter") || strings.Contains(f.Type, "content_filter") {
		kind = KindFiltered
	}
	return broken(kind, http.StatusOK, "ended its answer with an error%s", words(f.Message))
}

// limited is a body that may not be longer than expected.
type limited struct {
	io.ReadCloser
	left int64
}

var errTooLong = errors.New("the reply is far too long")

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
