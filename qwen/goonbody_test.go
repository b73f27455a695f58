package qwen

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestGoOnBody: what goes on with an answer names its chat and that answer, and
// says nothing else. Every single deviation, alone, is refused.
func TestGoOnBody(t *testing.T) {
	const answer = "33333333-aaaa-4bbb-8ccc-000000000003"
	const prompt = "A prompt of one line, long enough."
	k := cut{chat: chatA, asked: chatB, answer: answer, length: 9, prompt: prompt}
	type body = map[string]any
	good := func(change func(b body)) []byte {
		b := body{"stream": true, "chat_id": chatA, "chatId": chatA, "parent_id": answer, "parentId": answer, "response_id": answer,
			"chat_mode": "normal", "model": "qwen3.8-max", "messages": []any{}, "user_action": "continue"}
		if change != nil {
			change(b)
		}
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	one := func(m body) func(body) { return func(b body) { b["messages"] = []any{m} } }
	for name, change := range map[string]func(b body){
		"as it is":               nil,
		"as the parent alone":    func(b body) { delete(b, "response_id"); b["parentId"] = "" },
		"as the response alone":  func(b body) { delete(b, "parent_id"); b["parentId"] = nil },
		"no messages":            func(b body) { delete(b, "messages"); delete(b, "user_action") },
		"an empty message":       one(body{"role": "user", "content": "", "parentId": answer, "files": []any{}}),
		"an action in a message": one(body{"content": nil, "user_action": "Continue_generating"}),
		"an id in upper case":    func(b body) { b["chat_id"] = strings.ToUpper(chatA) },
	} {
		if err := k.verify("POST", goodURL, good(change)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := k.verify("GET", goodURL+"&response_id="+answer, nil); err != nil {
		t.Errorf("the GET: %v", err)
	}
	if err := k.verify("POST", goodURL+"&response_id="+answer, []byte("{}")); err != nil {
		t.Errorf("named in the address alone: %v", err)
	}
	for name, change := range map[string]func(b body){
		"another chat":         func(b body) { b["chat_id"] = chatB },
		"another parent":       func(b body) { b["parent_id"] = chatB },
		"the user's message":   func(b body) { b["parentId"] = k.asked },
		"another answer":       func(b body) { b["response_id"] = chatB },
		"no answer":            func(b body) { delete(b, "parent_id"); delete(b, "parentId"); delete(b, "response_id") },
		"parent is a number":   func(b body) { b["parent_id"] = 7 },
		"another action":       func(b body) { b["user_action"] = "regenerate" },
		"a guest's":            func(b body) { b["chat_mode"] = "guest" },
		"case trick":           func(b body) { b["Parent_ID"] = chatB },
		"files":                func(b body) { b["files"] = []any{body{"id": "x"}} },
		"the prompt":           one(body{"role": "user", "content": prompt}),
		"the prompt elsewhere": func(b body) { b["extra"] = body{"note": prompt} },
		"the prompt, quoted":   func(b body) { b["extra"] = `{"note":"` + prompt + `"}` },
		"a text":               one(body{"role": "user", "content": "continue"}),
		"a text in parts":      one(body{"content": []any{body{"text": "x"}}}),
		"a message's parent":   one(body{"content": "", "parent_id": k.asked}),
		"a message's files":    one(body{"content": "", "files": []any{1}}),
		"a message's action":   one(body{"content": "", "user_action": "chat"}),
		"two messages":         func(b body) { b["messages"] = []any{body{}, body{}} },
	} {
		if err := k.verify("POST", goodURL, good(change)); kindOf(err) != KindSiteChanged {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, query := range []string{"", "&response_id=", "&response_id=" + chatB, "&response_id=" + answer + "&response_id=" + answer} {
		if err := k.verify("GET", goodURL+query, nil); kindOf(err) != KindSiteChanged {
			t.Errorf("GET %q: %v", query, err)
		}
	}
	for _, address := range []string{"https://chat.qwen.ai/api/v2/chat/completions", strings.Replace(goodURL, chatA, chatB, 1), goodURL + "&chat_id=" + chatA,
		goodURL + "&response_id=" + chatB, "https://a b/%"} {
		if err := k.verify("POST", address, good(nil)); kindOf(err) != KindSiteChanged {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, raw := range []string{"", "[]", "{", `"text"`, `{"messages":{}}`} {
		if err := k.verify("POST", goodURL, []byte(raw)); kindOf(err) != KindSiteChanged {
			t.Errorf("body %q: %v", raw, err)
		}
	}
}

// TestCutInTwo: an answer that goes on is one text, in a part of its own or in a
// message under it, and whole only when its last piece is.
func TestCutInTwo(t *testing.T) {
	cutPart := `{"content":"one and ","phase":"answer","status":"finished","extra":{"finish_reason":"length"}}`
	rest := func(status string) string {
		return `{"content":"two","phase":"answer","status":"` + status + `","extra":{}}`
	}
	child := func(done, more string) string {
		return strings.Replace(answerParts(cutPart), `"a1":{`, `"a2":{"id":"a2","role":"assistant","parentId":"a1","content":"","content_list":[`+more+`],"done":`+done+`},"a1":{`, 1)
	}
	if !strings.Contains(child("true", rest("finished")), `"a2"`) {
		t.Fatal("the chat has another form")
	}
	for name, c := range map[string]struct {
		raw, text string
		done, cut bool
		end       string
	}{
		"cut":                   {answerParts(cutPart), "one and ", false, true, "a1"},
		"a part of its own":     {answerParts(cutPart, rest("finished")), "one and two", true, false, ""},
		"a part on its way":     {answerParts(cutPart, rest("typing")), "one and two", false, false, ""},
		"cut again":             {answerParts(cutPart, strings.Replace(cutPart, "one", "two", 1)), "one and two and ", false, true, "a1"},
		"a message":             {child("true", rest("finished")), "one and two", true, false, ""},
		"a message on its way":  {child("false", rest("typing")), "one and two", false, false, ""},
		"a message that begins": {child("false", ""), "one and ", false, false, ""},
		"a message that is cut": {child("true", strings.Replace(cutPart, "one", "two", 1)), "one and two and ", false, true, "a2"},
		"a message of nothing":  {child("true", ""), "one and ", false, true, "a2"},
	} {
		chat := asChat(t, c.raw)
		turn, err := chat.turn("read", "u1", "")
		if turn.Text != c.text || turn.Done != c.done || (err != nil) != c.cut {
			t.Errorf("%s: %+v, %v; want %q, done %v, cut %v", name, turn, err, c.text, c.done, c.cut)
		}
		k, _, ok := chat.cutOf("read", "u1", "")
		if ok != c.cut || k.answer != c.end || ok && k.length != len(c.text) {
			t.Errorf("%s: cut %v, %+v", name, ok, k)
		}
	}
}

// TestGateGoesOn: while the page is to go on with an answer, one request may be
// held for it; what speaks of the answer or its chat in another way is refused.
func TestGateGoesOn(t *testing.T) {
	const answer = "33333333-aaaa-4bbb-8ccc-000000000003"
	const site = "https://chat.qwen.ai"
	for name, c := range map[string]struct {
		method, address, body string
		want                  verdict
	}{
		"the request":        {"POST", goodURL, `{"response_id":"` + answer + `"}`, hold},
		"the GET":            {"GET", goodURL + "&response_id=" + answer, "", hold},
		"a GET of no answer": {"GET", goodURL, "", pass},
		"another endpoint":   {"POST", site + "/api/v2/chat/go-on", `{"id":"` + strings.ToUpper(answer) + `"}`, refuse},
		"of the chat":        {"PUT", site + "/api/v2/chats/" + chatA, `{}`, refuse},
		"a stop":             {"POST", site + "/api/v2/chat/completions/stop?chat_id=" + chatA, `{}`, refuse},
		"the prompt":         {"POST", site + "/api/v2/drafts", `{"content":"` + thePrompt + `"}`, refuse},
		"a read":             {"GET", site + "/api/v2/chats/" + chatA, "", pass},
		"something else":     {"POST", site + "/api/v2/users/status", `{"typarms":{}}`, pass},
	} {
		g, shut := testGate(t)
		g.lookFor(thePrompt)
		g.expectGoOn(cut{chat: chatA, asked: chatB, answer: answer, prompt: thePrompt})
		if got := g.decide(request(t, c.method, c.address, c.body)); got != c.want || (*shut == 1) != (c.want == hold) {
			t.Errorf("%s: %d, want %d; shut %d times", name, got, c.want, *shut)
		}
		// Whatever came first, a second one is never held beside it.
		second := g.decide(request(t, "POST", goodURL, `{}`))
		if c.want == hold && second != refuse || c.want != hold && second != hold {
			t.Errorf("%s, then the request: %d", name, second)
		}
	}
}
