package qwen

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	chatA = "11111111-aaaa-4bbb-8ccc-000000000001"
	chatB = "22222222-aaaa-4bbb-8ccc-000000000002"
)

// goodBody is the page's send of a prompt in a new chat.
func goodBody(prompt string) map[string]any {
	return map[string]any{
		"stream": true, "version": "2.1", "chatId": chatA, "parentId": "", "chat_id": chatA, "parent_id": nil,
		"chat_mode": "normal", "model": "qwen3.8-max",
		"messages": []any{map[string]any{
			"id": nil, "fid": "f", "parentId": nil, "childrenIds": []any{"x"}, "role": "user", "content": prompt,
			"files": []any{}, "models": []any{"qwen3.8-max"}, "model": "", "parent_id": nil,
		}},
	}
}

const goodURL = "https://chat.qwen.ai/api/v2/chat/completions?chat_id=" + chatA

// verified runs verify on a body that change has altered.
func verified(t testing.TB, w wanted, address string, change func(body, message map[string]any)) (string, error) {
	t.Helper()
	body := goodBody(w.prompt)
	if change != nil {
		change(body, body["messages"].([]any)[0].(map[string]any))
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return w.verify(address, raw)
}

// kindOf is the kind of a driver's error, "" for nil, "other" for a foreign one.
func kindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	}
	return "other"
}

func wantChatA(prompt string) wanted {
	return wanted{prompt: prompt, chats: map[string]bool{chatA: true}}
}

func TestVerifyAcceptsTheSend(t *testing.T) {
	w := wantChatA("A prompt\nof two lines. ")
	w.model = "qwen3.8-max"
	for name, change := range map[string]func(b, m map[string]any){
		"as it is":       nil,
		"no alternates":  func(b, m map[string]any) { delete(b, "chatId"); delete(b, "parentId"); delete(m, "parentId") },
		"no mode":        func(b, m map[string]any) { delete(b, "chat_mode") },
		"no files field": func(b, m map[string]any) { delete(m, "files") },
		"upper case id":  func(b, m map[string]any) { b["chat_id"] = strings.ToUpper(chatA) },
		"more fields":    func(b, m map[string]any) { b["new_in_november"] = map[string]any{"a": 1} },
	} {
		if id, err := verified(t, w, goodURL, change); err != nil || id != chatA {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
	if id, err := verified(t, w, strings.ToUpper(goodURL[:8])+goodURL[8:len(goodURL)-36]+strings.ToUpper(chatA), nil); err != nil || id != chatA {
		t.Errorf("an id in upper case becomes %q, %v", id, err)
	}
}

// TestVerifyRefuses: every single deviation, alone, is refused.
func TestVerifyRefuses(t *testing.T) {
	w := wantChatA("A prompt of one line")
	w.model = "qwen3.8-max"
	for name, c := range map[string]struct {
		change func(b, m map[string]any)
		kind   Kind
	}{
		"other text":            {func(b, m map[string]any) { m["content"] = "A prompt of one line " }, KindAltered},
		"empty text":            {func(b, m map[string]any) { m["content"] = "" }, KindAltered},
		"text in parts":         {func(b, m map[string]any) { m["content"] = []any{w.prompt} }, KindSiteChanged},
		"no text":               {func(b, m map[string]any) { delete(m, "content") }, KindSiteChanged},
		"a file":                {func(b, m map[string]any) { m["files"] = []any{map[string]any{"id": "x"}} }, KindAltered},
		"no message":            {func(b, m map[string]any) { b["messages"] = []any{} }, KindSiteChanged},
		"two messages":          {func(b, m map[string]any) { b["messages"] = []any{m, m} }, KindSiteChanged},
		"messages is an object": {func(b, m map[string]any) { b["messages"] = m }, KindSiteChanged},
		"of the system":         {func(b, m map[string]any) { m["role"] = "system" }, KindSiteChanged},
		"of nobody":             {func(b, m map[string]any) { delete(m, "role") }, KindSiteChanged},
		"a guest's":             {func(b, m map[string]any) { b["chat_mode"] = "guest" }, KindLogin},
		"a temporary chat":      {func(b, m map[string]any) { b["chat_mode"] = "temporary" }, KindSiteChanged},
		"other model":           {func(b, m map[string]any) { b["model"] = "qwen3.7-plus" }, KindSiteChanged},
		"no model":              {func(b, m map[string]any) { delete(b, "model") }, KindSiteChanged},
		"other models":          {func(b, m map[string]any) { m["models"] = []any{"qwen3.7-plus"} }, KindSiteChanged},
		"two models":            {func(b, m map[string]any) { b["models"] = []any{"qwen3.8-max", "other"} }, KindSiteChanged},
		"message's model":       {func(b, m map[string]any) { m["model"] = "other" }, KindSiteChanged},
		"a parent":              {func(b, m map[string]any) { b["parent_id"] = chatB }, KindSiteChanged},
		"a parent elsewhere":    {func(b, m map[string]any) { b["parentId"] = chatB }, KindSiteChanged},
		"message's parent":      {func(b, m map[string]any) { m["parentId"] = chatB }, KindSiteChanged},
		"message's parent_id":   {func(b, m map[string]any) { m["parent_id"] = chatB }, KindSiteChanged},
		"parent is a number":    {func(b, m map[string]any) { b["parent_id"] = 7 }, KindSiteChanged},
		"another chat":          {func(b, m map[string]any) { b["chat_id"] = chatB }, KindSiteChanged},
		"another chatId":        {func(b, m map[string]any) { b["chatId"] = chatB }, KindSiteChanged},
		"case trick":            {func(b, m map[string]any) { m["Content"] = w.prompt; m["content"] = "x" }, KindSiteChanged},
		"case trick on top":     {func(b, m map[string]any) { b["CHAT_ID"] = chatA }, KindSiteChanged},
	} {
		if id, err := verified(t, w, goodURL, c.change); kindOf(err) != c.kind || id != "" {
			t.Errorf("%s: %q, %v; want kind %q", name, id, err, c.kind)
		}
	}
}

func TestVerifyRefusesAddresses(t *testing.T) {
	w := wantChatA("text")
	for _, query := range []string{"", "?chat_id=", "?chat_id=" + chatB, "?chat_id=" + chatA + "&chat_id=" + chatB,
		"?chat_id=" + chatA + "x", "?chat_id=../" + chatA, "?chatId=" + chatA, "?chat_id=%zz"} {
		if id, err := verified(t, w, "https://chat.qwen.ai/api/v2/chat/completions"+query, nil); err == nil {
			t.Errorf("%s gives %q", query, id)
		}
	}
	if _, err := w.verify("https://a b/%", []byte("{}")); kindOf(err) != KindSiteChanged {
		t.Errorf("an address that is none: %v", err)
	}
	for _, body := range []string{"", "null", "[]", "{", `"text"`, "\x00", `{"messages":null}`} {
		if _, err := w.verify(goodURL, []byte(body)); kindOf(err) != KindSiteChanged {
			t.Errorf("body %q: %v", body, err)
		}
	}
}

func TestVerifyFollowUp(t *testing.T) {
	w := wantChatA("and then?")
	w.after = chatB
	follow := func(b, m map[string]any) {
		b["parent_id"], b["parentId"], m["parentId"], m["parent_id"] = chatB, chatB, chatB, chatB
	}
	if id, err := verified(t, w, goodURL, follow); err != nil || id != chatA {
		t.Errorf("a follow-up: %q, %v", id, err)
	}
	for name, change := range map[string]func(b, m map[string]any){
		"a new root":      nil,
		"no parent":       func(b, m map[string]any) { follow(b, m); delete(b, "parent_id"); delete(b, "parentId") },
		"one is another":  func(b, m map[string]any) { follow(b, m); m["parentId"] = chatA },
		"an empty parent": func(b, m map[string]any) { follow(b, m); b["parentId"] = "" },
		"a null parent":   func(b, m map[string]any) { follow(b, m); b["parentId"] = nil },
		"a null within":   func(b, m map[string]any) { follow(b, m); m["parent_id"] = nil },
		"another chat":    func(b, m map[string]any) { follow(b, m); b["chat_id"] = chatB },
	} {
		if _, err := verified(t, w, goodURL, change); kindOf(err) != KindSiteChanged {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVerifyIsExact: whatever two texts are, only the same one passes.
func TestVerifyIsExact(t *testing.T) {
	texts := rapid.OneOf(rapid.StringN(1, 12, -1), rapid.SampledFrom([]string{"a", "a ", "a\n", "A", "ä", "a\u0308", "\u2028", "<b>", `"`, `\`}))
	rapid.Check(t, func(t *rapid.T) {
		prompt, sent := texts.Draw(t, "prompt"), texts.Draw(t, "sent")
		raw, err := json.Marshal(goodBody(sent))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wantChatA(prompt).verify(goodURL, raw); (err == nil) != (prompt == sent) {
			t.Fatalf("prompt %q, sent %q: %v", prompt, sent, err)
		}
	})
}

func TestAlteredNamesThePlace(t *testing.T) {
	for _, c := range []struct{ want, got, at string }{
		{"abc", "abd", "character 3"},
		{"abc", "xbc", "character 1"},
		{"abc", "ab", "character 3"},
		{"ab", "abc", "character 3"},
		{"abc", "", "character 1"},
		{"äöü", "äöx", "character 3"},
		{"👩‍👩‍👧 a", "👩‍👩‍👧 b", "character 7"},
		{"a\r\nb", "a\nb", "character 2"},
		{"a\ufffdb", "a\ufffdc", "character 3"},
	} {
		if err := altered(c.want, c.got); !strings.Contains(err.Error(), c.at+" ") || kindOf(err) != KindAltered {
			t.Errorf("%q to %q: %v, want %s", c.want, c.got, err, c.at)
		}
	}
}

// TestVerifyChoices: the request must ask for what was chosen, in whichever of
// its words; one that says nothing, or two things, is refused.
func TestVerifyChoices(t *testing.T) {
	mode := func(mode string, enabled, auto any) map[string]any {
		f := map[string]any{"thinking_mode": mode, "thinking_enabled": enabled, "auto_thinking": auto}
		for k, v := range f {
			if v == nil || v == "" {
				delete(f, k)
			}
		}
		return f
	}
	for _, c := range []struct {
		features map[string]any
		thinking Thinking // what it asks; "" refuses all
	}{
		{mode("Auto", true, true), ThinkingAuto}, {mode("Auto", false, true), ThinkingAuto}, {mode("Auto", true, nil), ThinkingAuto},
		{mode("Thinking", true, false), ThinkingOn}, {mode("Thinking", nil, nil), ThinkingOn},
		{mode("Fast", false, false), ThinkingOff}, {mode("Fast", nil, nil), ThinkingOff},
		{mode("", true, true), ThinkingAuto}, {mode("", true, false), ThinkingOn}, {mode("", false, false), ThinkingOff}, {mode("", false, nil), ThinkingOff},
		{mode("Fast", true, false), ""}, {mode("Fast", false, true), ""}, {mode("Thinking", false, false), ""}, {mode("Thinking", true, true), ""},
		{mode("Auto", true, false), ""}, {mode("Deep", true, false), ""}, {mode("fast", false, false), ""}, {nil, ""}, {mode("", nil, nil), ""},
	} {
		for _, want := range []Thinking{"", ThinkingAuto, ThinkingOn, ThinkingOff} {
			w := wantChatA("p")
			w.choice.thinking = want
			_, err := verified(t, w, goodURL, func(_, m map[string]any) { m["feature_config"] = c.features })
			if ok := want == "" || want == c.thinking; (err == nil) != ok || !ok && kindOf(err) != KindSiteChanged {
				t.Errorf("%v with thinking %q: %v", c.features, want, err)
			}
		}
	}
	for _, c := range []struct {
		change func(m map[string]any)
		search Search
	}{
		{func(m map[string]any) { m["feature_config"] = map[string]any{"auto_search": true} }, SearchOn},
		{func(m map[string]any) { m["feature_config"] = map[string]any{"auto_search": false} }, SearchOff},
		{func(m map[string]any) {
			m["sub_chat_type"], m["feature_config"] = "search", map[string]any{"auto_search": false}
		}, SearchOn},
		{func(m map[string]any) { m["chat_type"] = "search" }, SearchOn},
		{func(m map[string]any) { m["chat_type"] = "t2t" }, ""},
	} {
		for _, want := range []Search{"", SearchOn, SearchOff} {
			w := wantChatA("p")
			w.choice.search = want
			_, err := verified(t, w, goodURL, func(_, m map[string]any) { c.change(m) })
			if ok := want == "" || want == c.search; (err == nil) != ok || !ok && kindOf(err) != KindSiteChanged {
				t.Errorf("%q with search %q: %v", c.search, want, err)
			}
		}
	}
	_, err := verified(t, wantChatA("p"), goodURL, func(_, m map[string]any) { m["feature_config"] = map[string]any{"Thinking_Mode": "Fast"} })
	if kindOf(err) != KindSiteChanged {
		t.Errorf("a misspelt key: %v", err)
	}
}

// TestVerifyFiles: the held body has the files that were asked for, in order and
// whole, and no other.
func TestVerifyFiles(t *testing.T) {
	file := func(name string, size int) map[string]any {
		return map[string]any{
			"type": "file", "id": "x", "url": "https://oss.example/x", "name": name, "size": size, "status": "uploaded", "progress": 0, "error": "",
			"file": map[string]any{"id": "x", "filename": name, "size": size,
				"meta": map[string]any{"name": name, "size": size, "parse_meta": map[string]any{"parse_status": "success"}}},
		}
	}
	w := wantChatA("with files")
	w.files = []enclosure{{name: "a.txt", size: 3}, {name: "b.csv", size: 4}}
	set := func(list ...any) func(b, m map[string]any) { return func(_, m map[string]any) { m["files"] = list } }
	alter := func(change func(f map[string]any)) func(b, m map[string]any) {
		f := file("b.csv", 4)
		change(f)
		return set(file("a.txt", 3), f)
	}
	inner := func(f map[string]any) map[string]any { return f["file"].(map[string]any) }
	meta := func(f map[string]any) map[string]any { return inner(f)["meta"].(map[string]any) }
	for name, change := range map[string]func(b, m map[string]any){
		"as they are":   set(file("a.txt", 3), file("b.csv", 4)),
		"told in short": alter(func(f map[string]any) { delete(f, "file"); delete(f, "error") }),
	} {
		if _, err := verified(t, w, goodURL, change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		change func(b, m map[string]any)
		kind   Kind
	}{
		"none":              {nil, KindSiteChanged},
		"one":               {set(file("a.txt", 3)), KindSiteChanged},
		"three":             {set(file("a.txt", 3), file("b.csv", 4), file("c", 5)), KindSiteChanged},
		"another order":     {set(file("b.csv", 4), file("a.txt", 3)), KindSiteChanged},
		"another name":      {alter(func(f map[string]any) { f["name"] = "B.csv" }), KindSiteChanged},
		"no name":           {alter(func(f map[string]any) { delete(f, "name") }), KindSiteChanged},
		"another size":      {alter(func(f map[string]any) { f["size"] = 5 }), KindSiteChanged},
		"no size":           {alter(func(f map[string]any) { delete(f, "size") }), KindSiteChanged},
		"a text for a size": {alter(func(f map[string]any) { f["size"] = "4" }), KindSiteChanged},
		"a name within":     {alter(func(f map[string]any) { inner(f)["filename"] = "x" }), KindSiteChanged},
		"a size within":     {alter(func(f map[string]any) { inner(f)["size"] = 5 }), KindSiteChanged},
		"a name deep":       {alter(func(f map[string]any) { meta(f)["name"] = "x" }), KindSiteChanged},
		"a size deep":       {alter(func(f map[string]any) { meta(f)["size"] = 5 }), KindSiteChanged},
		"case trick":        {alter(func(f map[string]any) { f["Name"] = "x" }), KindSiteChanged},
		"case trick within": {alter(func(f map[string]any) { inner(f)["FileName"] = "x" }), KindSiteChanged},
		"on its way":        {alter(func(f map[string]any) { f["status"] = "uploading" }), KindUnreachable},
		"no status":         {alter(func(f map[string]any) { delete(f, "status") }), KindUnreachable},
		"an error":          {alter(func(f map[string]any) { f["error"] = "broken" }), KindUnreachable},
		"not parsed":        {alter(func(f map[string]any) { meta(f)["parse_meta"] = map[string]any{"parse_status": "running"} }), KindUnreachable},
		"no object":         {set(file("a.txt", 3), "b.csv"), KindSiteChanged},
	} {
		if id, err := verified(t, w, goodURL, c.change); kindOf(err) != c.kind || id != "" {
			t.Errorf("%s: %q, %v; want kind %q", name, id, err, c.kind)
		}
	}
}

// TestCheckFile: what the site is known not to take.
func TestCheckFile(t *testing.T) {
	for name, size := range map[string]int64{"a.txt": 1, "A.PNG": FileMost, "noending": 7, "zip": 1} {
		if err := CheckFile(name, size); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, size := range map[string]int64{"a.zip": 1, "A.Tar.GZ": 1, "a.txt": 0, "b.txt": FileMost + 1} {
		if err := CheckFile(name, size); kindOf(err) != KindInvalid || asError(err, "", "").Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
