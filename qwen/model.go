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
	ID   string `json:"id"`
	Name string `json:"name"`
}

// choose picks the model in the page's own list; "" leaves the page's choice.
// That it is asked is proven later, by the held request. So a page whose list
// isn't found is no error here.
func (p *page) choose(ctx context.Context, id string) error {
	const op = "choose the model"
	if id == "" {
		return nil
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, modelTimeout)
	defer cancelTime()
	list, err := call[[]siteModel](tab, "models", p.client.options.Table)
	if err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	at := slices.IndexFunc(list, func(m siteModel) bool { return strings.EqualFold(m.ID, id) })
	switch {
	case len(list) == 0:
		return nil
	case at < 0:
		e := fail(KindSiteChanged, op, "the site has no model %q", id)
		e.Advice = "choose one of these with --model: " + strings.Join(nearest(id, list), ", ")
		return e
	}
	shown, err := call[string](tab, "model", p.client.options.Table, list[at].Name)
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
