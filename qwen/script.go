package qwen

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
)

//go:embed js/*.js
var scripts embed.FS

// script returns the source of js/NAME.js, which declares one function NAME.
func script(name string) string {
	b, err := scripts.ReadFile("js/" + name + ".js")
	if err != nil {
		panic(err) // the name is a constant of this package
	}
	return string(b)
}

// call runs the function of js/NAME.js in the page and decodes what it
// returns; a promise is waited for.
func call[T any](ctx context.Context, name string, args ...any) (T, error) {
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression(name, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		return v, fmt.Errorf("run %s in the page: %w", name, err)
	}
	return v, nil
}

// expression is the JavaScript that runs the function of js/NAME.js. The
// arguments are this package's own types, which JSON can hold.
func expression(name string, args ...any) string {
	encoded := make([]string, len(args))
	for i, arg := range args {
		b, err := json.Marshal(arg)
		if err != nil {
			panic(fmt.Sprintf("encode an argument of %s: %v", name, err))
		}
		encoded[i] = string(b)
	}
	return fmt.Sprintf("(() => { %s\n%s\nreturn %s(%s); })()", script("find"), script(name), name, strings.Join(encoded, ","))
}
