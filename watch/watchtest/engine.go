package watchtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"watcher/watch"
)

// Call is how a fake engine treats one call. The zero Call answers at once.
type Call struct {
	Takes time.Duration // before the answer, or the error
	Fails *Fault        // no answer
	Says  bool          // ... by the engine's own word, before any work
	Text  string        // what there was of it
}

// Engine is another engine in memory, with a ledger of all that reached it. It is
// safe for concurrent use.
type Engine struct {
	mu     sync.Mutex
	script func(prompt string, nth int) Call
	ledger []string
	models []string
	done   []string
	gone   error
}

// NewEngine returns an engine that answers all.
func NewEngine() *Engine {
	return &Engine{script: func(string, int) Call { return Call{} }}
}

var _ watch.Engine = (*Engine)(nil)

// Script sets how calls are treated; nth counts those of the same prompt, from 1.
func (e *Engine) Script(f func(prompt string, nth int) Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script = f
}

// Leave makes the engine unreachable; nil brings it back.
func (e *Engine) Leave(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = err
}

// Count tells how often a prompt arrived.
func (e *Engine) Count(prompt string) int { return count(e, &e.ledger, prompt) }

// Answered tells how often a prompt was answered whole.
func (e *Engine) Answered(prompt string) int { return count(e, &e.done, prompt) }

// Models lists the models that were asked for, in order.
func (e *Engine) Models() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.models)
}

// Calls tells how many prompts arrived.
func (e *Engine) Calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.ledger)
}

func count(e *Engine, list *[]string, prompt string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range *list {
		if p == prompt {
			n++
		}
	}
	return n
}

// EngineAddress is the fake engine's address.
const EngineAddress = "http://localhost:20128/v1/chat/completions"

// Address is EngineAddress.
func (e *Engine) Address() string { return EngineAddress }

// Reach gives the error of Leave.
func (e *Engine) Reach(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gone
}

// EngineAnswer is the fake engine's answer to a prompt.
func EngineAnswer(prompt string) string { return "Another engine says:\n\n" + Answer(prompt) }

type refusal struct{ *Fault }

// Refused says that the engine did not take the prompt.
func (refusal) Refused() bool { return true }

// Complete does what the script says.
func (e *Engine) Complete(ctx context.Context, model, prompt string) (string, error) {
	e.mu.Lock()
	e.ledger = append(e.ledger, prompt)
	e.models = append(e.models, model)
	nth := 0
	for _, p := range e.ledger {
		if p == prompt {
			nth++
		}
	}
	call := e.script(prompt, nth)
	e.mu.Unlock()
	if err := sleep(ctx, call.Takes); err != nil {
		return call.Text, &Fault{Kind: watch.ClassUnreachable, Text: "the connection was lost", Left: true}
	}
	switch {
	case call.Fails != nil && call.Says:
		return call.Text, refusal{call.Fails}
	case call.Fails != nil:
		return call.Text, call.Fails
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = append(e.done, prompt)
	return EngineAnswer(prompt), nil
}
