package qwen

import (
	"context"
	"slices"
	"strings"
	"time"
)

// modelTimeout bounds the choice of a model in the page.
const modelTimeout = 10 * time.Second

// siteModel is one model as the page's data name it.
type siteModel struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Thinks bool   `json:"thinks"` // it can't answer without thinking
}

// models are those that the page's own data name; none if it names none.
func (p *page) models(ctx context.Context) ([]siteModel, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, modelTimeout)
	defer cancelTime()
	list, err := call[[]siteModel](tab, "models", p.client.options.Table)
	if err != nil {
		return nil, fail(KindBrowser, "list the models", "%w", err)
	}
	return list, nil
}

// CheckChoices loads the page and compares the options' model and thinking with
// the page's own list of models, as a send will. It sends nothing. An error of
// KindInvalid says that the options are wrong, and what could be meant.
func (c *Client) CheckChoices(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.options.Model == "" {
		return nil
	}
	p, err := c.current(ctx)
	if err != nil {
		return err
	}
	list, err := p.models(ctx)
	if err != nil {
		return err
	}
	_, err = pick(list, c.options.Model, c.options.Thinking)
	return err
}

// pick finds a model by its id, for a way to think. An index below 0 without an
// error: there is no list to look in.
func pick(list []siteModel, id string, thinking Thinking) (int, error) {
	const op = "choose the model"
	at := slices.IndexFunc(list, func(m siteModel) bool { return m.ID == id })
	switch {
	case len(list) == 0:
		return -1, nil
	case at < 0:
		e := fail(KindInvalid, op, "the site has no model %q", id)
		e.Advice = "choose one of these with --model: " + strings.Join(nearest(id, list), ", ")
		return -1, e
	case list[at].Thinks && thinking == ThinkingOff:
		e := fail(KindInvalid, op, "the model %q can't answer without thinking", id)
		e.Advice = "choose another model, or --thinking auto"
		return -1, e
	}
	return at, nil
}

// choose picks the model in the page's own list; "" leaves the page's choice.
// That it is asked is proven later, by the held request. So a page whose list
// isn't found is no error here. A model that the site doesn't have is the
// prompt's fault where the prompt names it. The options' fault pauses the queue
// and fails no job.
func (p *page) choose(ctx context.Context, w wish) error {
	const op = "choose the model"
	if w.model == "" {
		return nil
	}
	list, err := p.models(ctx)
	if err != nil {
		return err
	}
	at, err := pick(list, w.model, w.thinking)
	if err != nil {
		e := *asError(err, KindInvalid, op)
		if !w.own {
			e.Kind = KindSiteChanged
		}
		return &e
	}
	if at < 0 {
		return nil
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, modelTimeout)
	defer cancelTime()
	table := p.client.options.Table
	shown, err := call[string](tab, "choose", table, table.Model, table.Models, list[at].Name, -1)
	switch {
	case err != nil:
		return fail(KindBrowser, op, "%w", err)
	case shown != "" && shown != list[at].Name:
		return fail(KindSiteChanged, op, "the page goes on showing %q instead of %q", oneLine(shown, 60), list[at].Name)
	}
	return nil
}

// nearestMost is how many models an error names.
const nearestMost = 5

// nearest are the ids that are most like the one that was asked for.
func nearest(id string, list []siteModel) []string {
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	slices.SortStableFunc(ids, func(a, b string) int { return distance(id, a) - distance(id, b) })
	return ids[:min(nearestMost, len(ids))]
}

// distance is how many letters must change to make one name of the other.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
