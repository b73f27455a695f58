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
