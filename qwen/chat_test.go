package qwen

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// asChat decodes a chat as the site sends it.
func asChat(t testing.TB, raw string) chat {
	t.Helper()
	var c chat
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// history is a chat's JSON from its messages, as a map, an array, or only the
// flat list.
func history(shape, current string, messages ...string) string {
	byID := make([]string, len(messages))
	for i, m := range messages {
		var id struct{ ID string }
		_ = json.Unmarshal([]byte(m), &id)
		byID[i] = fmt.Sprintf("%q:%s", id.ID, m)
	}
	all := strings.Join(messages, ",")
	switch shape {
	case "map":
		return fmt.Sprintf(`{"id":%q,"user_id":"u","chat":{"history":{"messages":{%s},"currentId":%q}}}`, chatA, strings.Join(byID, ","), current)
	case "array":
		return fmt.Sprintf(`{"id":%q,"user_id":"u","currentId":%q,"chat":{"messages":[%s],"history":{"messages":[%s],"currentId":%q}}}`, chatA, current, all, all, current)
	}
	return fmt.Sprintf(`{"id":%q,"currentId":%q,"chat":{"messages":[%s]}}`, chatA, current, all)
}

func user(id, parent, text string, children ...string) string {
	b, _ := json.Marshal(map[string]any{"id": id, "role": "user", "content": text, "parentId": parent, "childrenIds": children, "timestamp": 1700000000})
	return string(b)
}

// answerOf is an assistant's message; change alters it.
func answerOf(id, parent, text string, change func(map[string]any)) string {
	m := map[string]any{
		"id": id, "role": "assistant", "content": "", "parentId": parent, "childrenIds": []string{}, "done": true, "is_stop": false, "error": nil,
		"content_list": []any{
			map[string]any{"phase": "thinking_summary", "content": "", "status": "finished", "extra": map[string]any{"summary_thought": "secret thought"}},
			map[string]any{"phase": "answer", "content": text, "status": "finished"},
		},
	}
	if change != nil {
		change(m)
	}
	b, _ := json.Marshal(m)
	return string(b)
}

func parts(list ...[3]string) func(map[string]any) {
	return func(m map[string]any) {
		var out []any
		for _, p := range list {
			out = append(out, map[string]any{"phase": p[0], "content": p[1], "status": p[2], "extra": map[string]any{}})
		}
		m["content_list"] = out
	}
}

func TestTurnOfEveryShape(t *testing.T) {
	for _, shape := range []string{"map", "array", "flat"} {
		c := asChat(t, history(shape, "a1", user("u1", "", "the prompt", "a1"), answerOf("a1", "u1", "The answer.\n", nil)))
		turn, err := c.turn("read", "", "")
		if err != nil || !turn.Done || turn.Text != "The answer.\n" || turn.Message != "u1" || turn.Empty ||
			turn.Asked != 1700000000 || turn.Fingerprint != fingerprint("the prompt") || turn.Progress == 0 {
			t.Errorf("%s: %+v, %v", shape, turn, err)
		}
	}
}

// TestAnswerParts: all answer parts in order, nothing of the thinking, and done
// only on positive evidence.
func TestAnswerParts(t *testing.T) {
	set := func(key string, value any) func(map[string]any) {
		return func(m map[string]any) { m[key] = value }
	}
	for name, c := range map[string]struct {
		change func(map[string]any)
		text   string
		done   bool
		kind   Kind
	}{
		"plain":           {nil, "The answer.", true, ""},
		"two parts":       {parts([3]string{"answer", "One ", "finished"}, [3]string{"web_search", "x", "finished"}, [3]string{"answer", "two.", "finished"}), "One two.", true, ""},
		"last is typing":  {parts([3]string{"answer", "One ", "finished"}, [3]string{"answer", "tw", "typing"}), "One tw", false, ""},
		"first is typing": {parts([3]string{"answer", "One ", "typing"}, [3]string{"answer", "two", "finished"}), "One two", false, ""},
		"no status":       {parts([3]string{"answer", "One", ""}), "One", false, ""},
		"thinking only":   {parts([3]string{"thinking_summary", "", "finished"}, [3]string{"think", "raw thoughts", "finished"}), "", false, ""},
		"thinking, text":  {func(m map[string]any) { parts([3]string{"think", "x", "finished"})(m); m["content"] = "text" }, "", false, ""},
		"blank":           {parts([3]string{"answer", " \n\t", "finished"}), " \n\t", false, ""},
		"empty":           {parts([3]string{"answer", "", "finished"}), "", false, ""},
		"no parts, text":  {func(m map[string]any) { m["content_list"] = []any{}; m["content"] = "Old style." }, "Old style.", true, ""},
		"no parts, none":  {set("content_list", nil), "", false, ""},
		"content too":     {set("content", "The answer."), "The answer.", true, ""},
		"not done":        {set("done", false), "The answer.", false, ""},
		"done is missing": {func(m map[string]any) { delete(m, "done") }, "The answer.", false, ""},
		"stopped":         {set("is_stop", true), "The answer.", false, KindGeneration},
		"error":           {set("error", map[string]any{"code": "internal_error", "details": "busy"}), "The answer.", false, KindGeneration},
		"error is a text": {set("error", "it broke"), "The answer.", false, KindGeneration},
		"error is an {}":  {set("error", map[string]any{}), "The answer.", true, ""},
		"error is false":  {set("error", false), "The answer.", true, ""},
		"error is empty":  {set("error", ""), "The answer.", true, ""},
		"filtered":        {set("error", map[string]any{"code": "data_inspection_failed"}), "The answer.", false, KindFiltered},
		"cut by length": {func(m map[string]any) {
			m["content_list"] = []any{map[string]any{"phase": "answer", "content": "Half", "status": "finished", "extra": map[string]any{"finish_reason": "length"}}}
		}, "Half", false, KindGeneration},
		"ended by stop": {func(m map[string]any) {
			m["content_list"] = []any{map[string]any{"phase": "answer", "content": "All", "status": "finished", "extra": map[string]any{"finish_reason": "stop"}}}
		}, "All", true, ""},
		"literal <think>":  {parts([3]string{"answer", "<think>not a thought</think>", "finished"}), "<think>not a thought</think>", true, ""},
		"content is parts": {func(m map[string]any) { m["content_list"] = nil; m["content"] = []any{"x"} }, "", false, ""},
	} {
		chat := asChat(t, history("map", "a1", user("u1", "", "p", "a1"), answerOf("a1", "u1", "The answer.", c.change)))
		turn, err := chat.turn("read", "u1", "")
		if turn.Text != c.text || turn.Done != c.done || kindOf(err) != c.kind || turn.Empty {
			t.Errorf("%s: %+v, %v; want %q, done %v, kind %q", name, turn, err, c.text, c.done, c.kind)
		}
		if turn.Message != "u1" {
			t.Errorf("%s: the message is %q", name, turn.Message)
		}
	}
}

func TestWhichMessageAndAnswer(t *testing.T) {
	two := []string{user("u1", "", "p", "a1", "a2"), answerOf("a1", "u1", "first", nil), answerOf("a2", "u1", "second", nil)}
	for _, c := range []struct {
		name, current, ours, after string
		messages                   []string
		message, text              string
	}{
		{"regenerated: the active one", "a2", "", "", two, "u1", "second"},
		{"regenerated: the other is active", "a1", "", "", two, "u1", "first"},
		{"a pair: none is active", "", "", "", two, "u1", "first"},
		{"current is the user's", "u1", "", "", two, "u1", "first"},
		{"a later turn", "a3", "", "", append(two, user("u2", "a2", "q", "a3"), answerOf("a3", "u2", "third", nil)), "u1", "second"},
		{"a later turn, by id", "a3", "u2", "", append(two, user("u2", "a2", "q", "a3"), answerOf("a3", "u2", "third", nil)), "u2", "third"},
		{"the same text again", "a3", "", "", append(two, user("u2", "a2", "p", "a3"), answerOf("a3", "u2", "third", nil)), "u1", "second"},
		{"the same text before, ours by id", "a3", "u2", "", append(two, user("u2", "a2", "p", "a3"), answerOf("a3", "u2", "third", nil)), "u2", "third"},
		{"the same text before, ours follows", "a3", "", "a2", append(two, user("u2", "a2", "p", "a3"), answerOf("a3", "u2", "third", nil)), "u2", "third"},
		{"the same text before, ours is not answered", "u2", "", "a2", append(two, user("u2", "a2", "p")), "u2", ""},
		{"the same text before, ours is not there", "a2", "", "a2", two, "", ""},
		{"a follow-up", "a3", "", "a2", append(two, user("u2", "a2", "q", "a3"), answerOf("a3", "u2", "third", nil)), "u2", "third"},
		{"an unknown id falls back", "a2", "zz", "", two, "u1", "second"},
		{"an edited prompt: the active root", "a9", "", "", append(two, user("u9", "", "edited", "a9"), answerOf("a9", "u9", "ninth", nil)), "u9", "ninth"},
		{"a read that begins late", "a3", "u1", "", []string{user("u2", "a2", "q", "a3"), answerOf("a3", "u2", "third", nil)}, "", ""},
		{"a read that begins late, unnamed", "a3", "", "", []string{user("u2", "a2", "q", "a3"), answerOf("a3", "u2", "third", nil)}, "", ""},
		{"a read that begins within our turn", "a2", "u1", "", two[1:], "", ""},
		{"no answer yet", "u1", "", "", two[:1], "u1", ""},
		{"a loop in the parents", "a2", "", "", append(two, user("x", "x", "loop")), "u1", "second"},
	} {
		turn, err := asChat(t, history("map", c.current, c.messages...)).turn("read", c.ours, c.after)
		if err != nil || turn.Message != c.message || turn.Text != c.text {
			t.Errorf("%s: %+v, %v; want %s: %q", c.name, turn, err, c.message, c.text)
		}
	}
}

// TestEmptyIsPositive: an empty chat shows an empty history; whatever else is
// missing proves nothing.
func TestEmptyIsPositive(t *testing.T) {
	id := fmt.Sprintf(`"id":%q`, chatA)
	for name, c := range map[string]struct {
		raw, after string
		empty      bool
		kind       Kind
	}{
		"map":                 {`{` + id + `,"chat":{"history":{"messages":{},"currentId":""}}}`, "", true, ""},
		"array":               {`{` + id + `,"chat":{"messages":[],"history":{"messages":[],"currentId":null}}}`, "", true, ""},
		"no chat":             {`{` + id + `}`, "", false, KindSiteChanged},
		"null chat":           {`{` + id + `,"chat":null}`, "", false, KindSiteChanged},
		"no history":          {`{` + id + `,"chat":{"messages":[]}}`, "", false, KindSiteChanged},
		"null history":        {`{` + id + `,"chat":{"messages":[],"history":null}}`, "", false, KindSiteChanged},
		"null messages":       {`{` + id + `,"chat":{"history":{"messages":null}}}`, "", false, KindSiteChanged},
		"only a current":      {`{` + id + `,"currentId":"a1","chat":{"history":{"messages":{}}}}`, "", false, ""},
		"current answers":     {`{` + id + `,"currentResponseIds":["a1"],"chat":{"history":{"messages":{}}}}`, "", false, ""},
		"flat has one":        {`{` + id + `,"chat":{"messages":[` + user("u1", "", "p") + `],"history":{"messages":{}}}}`, "", false, ""},
		"one without id":      {`{` + id + `,"chat":{"history":{"messages":[{}]}}}`, "", false, ""},
		"a null":              {`{` + id + `,"chat":{"history":{"messages":[null]}}}`, "", false, ""},
		"one of a system":     {`{` + id + `,"chat":{"history":{"messages":{"s":{"role":"system"}}}}}`, "", false, ""},
		"after, childless":    {history("map", "a1", user("u1", "", "p", "a1"), answerOf("a1", "u1", "x", nil)), "a1", true, ""},
		"after, not there":    {history("map", "a1", user("u1", "", "p", "a1"), answerOf("a1", "u1", "x", nil)), "a2", false, ""},
		"after, not current":  {history("map", "a2", user("u1", "", "p", "a1", "a2"), answerOf("a1", "u1", "x", nil), answerOf("a2", "u1", "x", nil)), "a1", false, ""},
		"after, with a child": {history("map", "a1", user("u1", "", "p", "a1"), answerOf("a1", "u1", "x", func(m map[string]any) { m["childrenIds"] = []string{"lost"} })), "a1", false, ""},
	} {
		turn, err := asChat(t, c.raw).turn("read", "", c.after)
		if turn.Empty != c.empty || kindOf(err) != c.kind {
			t.Errorf("%s: %+v, %v; want empty %v, kind %q", name, turn, err, c.empty, c.kind)
		}
	}
}

// TestAnyMessageIsNotEmpty, and an answer that lacks one mark of its end is
// not done, whatever the rest of the chat is.
func TestAnyMessageIsNotEmpty(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "u1", "a1", "a2", "x"})
	rapid.Check(t, func(t *rapid.T) {
		var messages []string
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			m := map[string]any{
				"id": word.Draw(t, "id"), "role": rapid.SampledFrom([]string{"user", "assistant", "", "system"}).Draw(t, "role"),
				"parentId": word.Draw(t, "parent"), "done": rapid.Bool().Draw(t, "done"), "is_stop": rapid.Bool().Draw(t, "stopped"),
				"content": rapid.SampledFrom([]any{"", "text", nil, 7}).Draw(t, "content"),
			}
			if rapid.Bool().Draw(t, "with parts") {
				parts([3]string{"answer", "text", rapid.SampledFrom([]string{"typing", "finished", ""}).Draw(t, "status")})(m)
			}
			b, _ := json.Marshal(m)
			messages = append(messages, string(b))
		}
		shape := rapid.SampledFrom([]string{"map", "array", "flat"}).Draw(t, "shape")
		var c chat
		if err := json.Unmarshal([]byte(history(shape, word.Draw(t, "current"), messages...)), &c); err != nil {
			t.Fatal(err)
		}
		turn, err := c.turn("read", word.Draw(t, "ours"), "")
		if turn.Empty {
			t.Fatalf("%s are taken for an empty chat", messages)
		}
		if turn.Done && (err != nil || !strings.Contains(strings.Join(messages, ""), `"done":true`) || strings.TrimSpace(turn.Text) == "") {
			t.Fatalf("%s give a done %+v, %v", messages, turn, err)
		}
	})
}

// TestUnfinishedIsNeverDone: cut an answer's JSON at any mark of its end.
func TestUnfinishedIsNeverDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "parts")
		broken := rapid.IntRange(0, n).Draw(t, "broken part")
		var list [][3]string
		for i := range n {
			status := "finished"
			if i == broken {
				status = rapid.SampledFrom([]string{"typing", "", "Finished", "done"}).Draw(t, "status")
			}
			list = append(list, [3]string{"answer", "text", status})
		}
		done := rapid.Bool().Draw(t, "done")
		raw := history("map", "a1", user("u1", "", "p", "a1"), answerOf("a1", "u1", "", func(m map[string]any) { parts(list...)(m); m["done"] = done }))
		var c chat
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		turn, _ := c.turn("read", "", "")
		if whole := done && broken == n; turn.Done != whole {
			t.Fatalf("done is %v for %s", turn.Done, raw)
		}
	})
}

// answerParts is a chat with an answer of these parts, as JSON.
func answerParts(raw ...string) string {
	return history("map", "a1", user("u1", "", "p", "a1"), `{"id":"a1","role":"assistant","content":"","parentId":"u1","done":true,"is_stop":false,"error":null,`+
		`"content_list":[`+strings.Join(raw, ",")+`]}`)
}

const (
	thinkingPart = `{"content":"","phase":"thinking_summary","status":"finished","extra":{"summary_title":{"content":["Reading"]},"summary_thought":{"content":["secret"]}}}`
	searchPart   = `{"content":"","phase":"web_search","status":"finished","extra":{"web_search_info":[{"url":"https://a.example/1","title":"One","hostname":"a.example"},{"url":"https://a.example/2","title":"Two [2]"}]}}`
	toolPart     = `{"content":"","phase":"web_search","status":"finished","function_id":"f","extra":{"tool_result":{"docs":[{"url":"https://b.example/3","title":""}]}}}`
	listPart     = `{"content":"","phase":"web_search","status":"finished","extra":{"tool_result":[{"url":"https://c.example/4","title":"Four"}]}}`
	textPart     = `{"content":"So it is[[1]][[2]].","phase":"answer","status":"finished","extra":{},"usage":{"input_tokens":9,"output_tokens":12}}`
	imagePart    = `{"content":"https://cdn.qwenlm.ai/output/u/t2i/r/i.png?key=a.b.c","phase":"image_gen","status":"finished","extra":{"output_image_hw":[1024,1024]}}`
	imagesPart   = `{"content":"","phase":"image_gen_tool","status":"finished","extra":{"image_list":[{"image":"https://cdn.qwenlm.ai/x.png"},{"image":"https://cdn.qwenlm.ai/y.png"}]}}`
	slidesPart   = `{"content":"","phase":"slides","status":"finished","extra":{"slides":{"slide_pages":[1,2],"pdf_url":"https://cdn.qwenlm.ai/s.pdf"}}}`
)

// TestPartsBesideText: images and files are links, in their place; what a search
// found is listed only when it is asked for.
func TestPartsBesideText(t *testing.T) {
	image := "![](https://cdn.qwenlm.ai/output/u/t2i/r/i.png?key=a.b.c)"
	for name, c := range map[string]struct {
		parts         []string
		text, sources string
		done          bool
	}{
		"a search":        {[]string{thinkingPart, searchPart, textPart}, "So it is[[1]][[2]].", "\n\n## Sources\n\n1. [One](<https://a.example/1>)\n2. [Two \\[2\\]](<https://a.example/2>)", true},
		"a tool's search": {[]string{toolPart, textPart}, "So it is[[1]][[2]].", "\n\n## Sources\n\n1. [https://b.example/3](<https://b.example/3>)", true},
		"a tool's list":   {[]string{listPart, textPart}, "So it is[[1]][[2]].", "\n\n## Sources\n\n1. [Four](<https://c.example/4>)", true},
		"a source that is no page": {[]string{strings.Replace(listPart, "https://c.example/4", "javascript:x()", 1), strings.Replace(toolPart, "https://b.example/3", "https://b.example/<3>", 1), textPart},
			"So it is[[1]][[2]].", "\n\n## Sources\n\n1. Four\n2. [https://b.example/<3>](<https://b.example/%3C3%3E>)", true},
		"two searches":      {[]string{toolPart, listPart, textPart}, "So it is[[1]][[2]].", "\n\n## Sources\n\n1. [https://b.example/3](<https://b.example/3>)\n2. [Four](<https://c.example/4>)", true},
		"a list that grows": {[]string{strings.Replace(searchPart, `,{"url":"https://a.example/2","title":"Two [2]"}`, "", 1), searchPart, textPart}, "So it is[[1]][[2]].", "\n\n## Sources\n\n1. [One](<https://a.example/1>)\n2. [Two \\[2\\]](<https://a.example/2>)", true},
		"an image alone":    {[]string{thinkingPart, imagePart}, image, "", true},
		"an image, a text":  {[]string{imagePart, textPart}, image + "\n\nSo it is[[1]][[2]].", "", true},
		"a text, an image":  {[]string{textPart, imagePart}, "So it is[[1]][[2]].\n\n" + image, "", true},
		"between two texts": {[]string{textPart, imagePart, textPart}, "So it is[[1]][[2]].\n\n" + image + "\n\nSo it is[[1]][[2]].", "", true},
		"several images":    {[]string{imagesPart}, "![](https://cdn.qwenlm.ai/x.png)\n\n![](https://cdn.qwenlm.ai/y.png)", "", true},
		"slides":            {[]string{slidesPart, textPart}, "[slides](https://cdn.qwenlm.ai/s.pdf)\n\nSo it is[[1]][[2]].", "", true},
		"the text links it": {[]string{imagesPart, strings.Replace(textPart, "So it is", "See ![x](https://cdn.qwenlm.ai/x.png) and ![y](https://cdn.qwenlm.ai/y.png)", 1)},
			"See ![x](https://cdn.qwenlm.ai/x.png) and ![y](https://cdn.qwenlm.ai/y.png)[[1]][[2]].", "", true},
		"an image on its way":      {[]string{strings.Replace(imagePart, "finished", "typing", 1), textPart}, image + "\n\nSo it is[[1]][[2]].", "", false},
		"an image that is a text":  {[]string{strings.Replace(imagePart, "https://cdn", "javascript:cdn", 1)}, "", "", false},
		"an address with a break":  {[]string{strings.Replace(imagePart, "key=a", `key=)\n# a`, 1)}, "", "", false},
		"a search without sources": {[]string{strings.Replace(toolPart, `{"url":"https://b.example/3","title":""}`, "", 1), textPart}, "So it is[[1]][[2]].", "", true},
		"an extra of another kind": {[]string{strings.Replace(searchPart, `"web_search_info":[`, `"web_search_info":[7,`, 1), textPart}, "So it is[[1]][[2]].", "", true},
	} {
		chat := asChat(t, answerParts(c.parts...))
		turn, err := chat.turn("read", "u1", "")
		if err != nil || turn.Text != c.text || turn.Done != c.done {
			t.Errorf("%s: %q, done %v, %v; want %q, %v", name, turn.Text, turn.Done, err, c.text, c.done)
		}
		if got := chat.sourceList("read", "u1", ""); got != c.sources && !strings.HasPrefix(name, "an extra") {
			t.Errorf("%s: sources %q, want %q", name, got, c.sources)
		}
	}
}

// TestCutByLength: wherever the site says that the limit was met, or the count
// of tokens does, the answer is not whole, and a person can have it go on.
func TestCutByLength(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		cut      bool
	}{
		"nothing said":     {"", "", false},
		"in the extra":     {`"extra":{}`, `"extra":{"finish_reason":"length"}`, true},
		"max_tokens":       {`"extra":{}`, `"extra":{"finish_reason":"max_tokens"}`, true},
		"ended by itself":  {`"extra":{}`, `"extra":{"finish_reason":"stop"}`, false},
		"in the part":      {`"extra":{}`, `"finish_reason":"length"`, true},
		"in the message":   {`"done":true`, `"done":true,"finish_reason":"length"`, true},
		"in its extra":     {`"done":true`, `"done":true,"extra":{"finish_reason":"length"}`, true},
		"in its meta":      {`"done":true`, `"done":true,"meta":{"finish_reason":"length"}`, true},
		"at the limit":     {`"output_tokens":12`, `"output_tokens":65536`, true},
		"below the limit":  {`"output_tokens":12`, `"output_tokens":65535`, false},
		"usage is a text":  {`"usage":{`, `"usage":"none","x":{`, false},
		"a reason, number": {`"extra":{}`, `"extra":{"finish_reason":7}`, false},
	} {
		raw := answerParts(thinkingPart, textPart)
		if c.from != "" && !strings.Contains(raw, c.from) {
			t.Fatalf("%s: there is no %s", name, c.from)
		}
		turn, err := asChat(t, strings.Replace(raw, c.from, c.to, 1)).turn("read", "u1", "")
		if turn.Done == c.cut || (err != nil) != c.cut || turn.Text != "So it is[[1]][[2]]." {
			t.Errorf("%s: %+v, %v; want cut %v", name, turn, err, c.cut)
		}
		if c.cut && (kindOf(err) != KindGeneration || !asError(err, "", "").GoesOn() || !strings.Contains(asError(err, "", "").Hint(), "Continue")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
