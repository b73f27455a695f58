package qwen

import (
	"context"
	"time"
)

// How long the site may take with a prompt that was let go: until it answers at
// all, and from there until it names our message. Each client has its own.
var (
	headersTimeout = 150 * time.Second
	namedTimeout   = 60 * time.Second
)

// release lets the held request go through the one connection that the proxy
// allows, and waits for the site's first words.
func (s *sending) release(ctx context.Context) (string, error) {
	stream, done, err := s.deliver(ctx)
	if err != nil {
		return "", err
	}
	message, err := s.named(ctx, stream)
	if err != nil {
		done()
		return "", err
	}
	s.step(StepNamed)
	go s.attend(stream, done)
	return message, nil
}

// deliver lets the held request go and waits for the answer's headers. done is
// to be called when the stream is not needed any more.
//
// Until let has run, the proxy is shut since the hold, so whatever fails: not a
// byte left. From then on the one connection's counter is the proof: lost cuts
// it first and reads it then, and while the page lives the gate refuses every
// repeat. Chromium's own repeat of a broken request needs a second connection,
// which the proxy refuses, or on the same one the room that once does not leave.
func (s *sending) deliver(ctx context.Context) (_ *stream, done func(), err error) {
	const op = "send the prompt"
	p := s.page
	watch := watchNetwork(p.live, s.held.Network)
	defer func() {
		if err != nil {
			watch.stop()
		}
	}()
	body := len(p.gate.body(*s.held))
	if err := p.gate.let(func() { p.browser.proxy.allowOne(body) }); err != nil {
		return nil, nil, s.drop(err)
	}
	s.released, s.left = true, true
	p.client.keeper.sent()
	if err := p.gate.proceed(*s.held); err != nil {
		return nil, nil, s.lost(fail(KindBrowser, op, "%w", err))
	}
	s.step(StepReleased)
	r, err := watch.headers(ctx, p.live, p.client.headersTimeout)
	if err != nil {
		return nil, nil, s.lost(err)
	}
	s.answered = true
	s.step(StepHeaders)
	p.browser.proxy.setMode(modeOpen)
	p.gate.reopen()
	p.following.Store(time.Now().UnixNano())
	done = func() { p.following.Store(0); watch.stop() }
	return newStream(p.live, watch, s.held.Network, r, p.client.namedTimeout), done, nil
}

// named is the site's id of our message: from the stream's first words, else
// from the chat.
func (s *sending) named(ctx context.Context, stream *stream) (string, error) {
	first, err := stream.first(ctx)
	s.answer = first.Answer
	if err != nil || first.Message != "" {
		return first.Message, err
	}
	message, err := s.inChat(ctx)
	if odd := stream.strange(); odd != "" && err != nil && asError(err, "", "").Kind == KindUnreachable {
		return "", fail(KindSiteChanged, "send the prompt", "the site's reply isn't understood: %q; %w", odd, err)
	}
	return message, err
}

// lost ends a send that got no answer. The proxy knows whether any byte went
// out through the one connection; if none did, the prompt is still here.
func (s *sending) lost(cause error) error {
	s.left = s.page.browser.proxy.shut() > 0
	return cause
}

// inChat looks for our message in the chat, when the site took the prompt and
// its stream could not be read.
func (s *sending) inChat(ctx context.Context) (string, error) {
	const op = "see whether the site has the prompt"
	found, err := s.page.chat(ctx, op, s.chat)
	if err != nil {
		return "", err
	}
	turn, err := found.turn(op, "", s.after)
	if turn.Message != "" {
		return turn.Message, nil
	}
	if err == nil {
		err = fail(KindUnreachable, op, "the chat does not show it")
	}
	return "", err
}
