package watch

import (
	"context"
	"time"
)

// Continuer is a chat that can have the site go on with an answer which ended at
// its length limit. One that is none leaves such answers to a person.
type Continuer interface {
	// GoOn asks for the rest of our message's answer, once for each place at which
	// it is cut, whatever crashes; the next reads show what became of it. An error
	// of a class that ends one job says that the answer stays as it is. Any other
	// says that it could not be asked for now.
	GoOn(ctx context.Context, address, message, after string) error
}

// goOn has the site go on with an answer that a read showed as cut, and reports
// whether the job goes on too. Nobody asks for the rest of another's answer: two
// programs would both do it.
func (c *courier) goOn(ctx context.Context, r *report, cut *trouble, t Turn) bool {
	chat, can := c.cfg.Chat.(Continuer)
	m := r.order.marker
	if !can || m.By == "" {
		return false
	}
	owner, err := c.cfg.Chat.Owner(ctx)
	if err != nil {
		r.trouble = ownerTrouble(err)
		return true
	}
	if r.owner = owner; owner != m.By {
		return false
	}
	err = chat.GoOn(ctx, m.Address, m.Message, m.After)
	if err == nil {
		r.spoke, r.turn, r.note = collect, &t, "the answer is cut at the site's limit; it was asked to go on"
		r.patience = r.patience.expires(t.Asked, m.At, time.Now(), c.cfg.Expire).grow(t, time.Now(), c.cfg.Poll)
		c.verdict(r, time.Now(), t.Text)
		return true
	}
	why := troubleOf(err)
	if endsJob(why.class) {
		cut.text, cut.hint = why.text, why.hint
		return false
	}
	if c.verdict(r, time.Now(), t.Text); r.failed == nil {
		r.trouble = why
	}
	return true
}
