// The calls of the page to its server.
const Api = (() => {
  const { cfg, sleep } = Core;

  const headers = (more) => ({
    Accept: "application/json", "Content-Type": "application/json", Version: cfg.version, source: "web",
    "X-Request-Id": crypto.randomUUID(), Timezone: new Date().toString().slice(0, 33), ...more,
  });

  async function json(path, init = {}) {
    const reply = await fetch(path, { credentials: "include", ...init, headers: headers(init.headers) });
    const text = await reply.text();
    try {
      return JSON.parse(text);
    } catch {
      return { success: false, data: { code: String(reply.status), details: text.slice(0, 80) } };
    }
  }

  const post = (path, body) => json(path, { method: "POST", body: JSON.stringify(body) });

  // ready waits until the anti-bot scripts can sign, at most eight seconds.
  async function ready() {
    for (let i = 0; i < 160 && !window.__baxia__?.getFYModule?.getUidToken(); i++) await sleep(50);
  }

  const newChat = (model, guest) => post("/api/v2/chats/new", {
    chatId: "", models: [model], project_id: "", timestamp: Date.now(), chat_type: "t2t", chat_mode: guest ? "guest" : "normal",
  });

  function sendBody({ chat, parent, text, model, guest, fid, thinking, search, files }) {
    const now = Math.floor(Date.now() / 1000);
    return {
      stream: true, version: "2.1", incremental_output: true, chatId: chat, parentId: parent ?? "", chat_id: chat, parent_id: parent,
      chat_mode: guest ? "guest" : "normal", model,
      messages: [{
        id: null, fid, parentId: parent, childrenIds: [crypto.randomUUID()], role: "user", content: text, user_action: "chat", files: files ?? [],
        timestamp: now, models: [model], model: "", chat_type: "t2t", sub_chat_type: "t2t", parent_id: parent,
        feature_config: {
          thinking_enabled: thinking !== "Fast", output_schema: "phase", research_mode: "normal", auto_thinking: thinking === "Auto",
          thinking_mode: thinking, thinking_format: "summary", auto_search: search,
        },
        extra: { meta: { subChatType: "t2t" } },
      }],
      timestamp: now + 1,
    };
  }

  function send(body) {
    const all = headers({ Accept: "text/event-stream", "X-Accel-Buffering": "no" });
    delete all[cfg.omits];
    return fetch("/api/v2/chat/completions?chat_id=" + body.chat_id, { method: "POST", credentials: "include", body: JSON.stringify(body), headers: all });
  }

  // goOn asks for the rest of an answer that was cut at its length limit.
  function goOn(m, user, state) {
    const kind = cfg.continues || "response";
    if (kind === "resume") return resume(state.chat, m.id);
    if (kind === "elsewhere") return fetch("/api/v2/chats/continue", { method: "POST", credentials: "include", headers: headers(), body: JSON.stringify({ chat_id: state.chat, response_id: m.id }) });
    const body = sendBody({ chat: state.chat, parent: kind === "sibling" ? user.id : m.id, text: "", model: state.model, fid: "", thinking: state.thinking, search: state.search });
    if (kind === "repeat") body.messages[0].content = user.text;
    else if (kind === "says") body.messages[0].content = "Continue";
    else Object.assign(body, { messages: [], user_action: "continue" });
    if (kind === "response" || kind === "twice") body.response_id = m.id;
    if (kind === "twice") send(body).catch(() => {});
    return send(body);
  }

  const resume = (chat, response) => fetch(`/api/v2/chat/completions?chat_id=${chat}&response_id=${response}`, {
    credentials: "include", headers: headers({ Accept: "text/event-stream" }),
  });

  // events gives the objects of a stream; JSON without frames is one object.
  async function* events(reply) {
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { value, done } = await reader.read();
        rest += value ?? "";
        const parts = rest.split("\n\n");
        rest = done ? "" : parts.pop();
        for (const part of parts) {
          const data = part.replace(/^data: ?/, "").trim();
          if (data && data !== "[DONE]") yield JSON.parse(data);
        }
        if (done) return;
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  return {
    json, post, ready, newChat, sendBody, send, resume, goOn, events,
    chat: (id) => json("/api/v2/chats/" + id),
    chats: (page) => json("/api/v2/chats/?page=" + page),
    stop: (chat, response) => post("/api/v2/chat/completions/stop?chat_id=" + chat, { chat_id: chat, response_id: response }),
  };
})();
