// The page itself: state, composer, submit.
(() => {
  const { cfg, h, cls, track, store, at, sleep } = Core;
  const data = window.__prerendered_data;
  const guest = !data.user;
  const app = store({
    text: "", messages: [], dual: [], running: false, stoppable: false, list: [], chat: "", response: "",
    model: data.models[0].id, thinking: "Auto", search: true, busy: false,
  }, draw);
  const { state, set } = app;
  let field, typed, ignored = 0, last = null;

  function draw() {
    View.messages(state, (id) => set({ dual: [], messages: state.messages.filter((m) => m.id === id || !state.dual.includes(m.id)) }));
    View.button(state, press, stop);
    if (field.value !== state.text) field.value = state.text; // a controlled field shows the state, whatever it was given
    field.disabled = state.dual.length > 1 || cfg.overlay === "chooser";
  }

  // changed is the field's onChange.
  function changed() {
    if (typed()) {
      for (const end = performance.now() + cfg.blockInput; performance.now() < end;);
      set({ text: field.value });
      if (cfg.autosave) Api.post("/api/v2/drafts", { content: state.text }).catch(() => {});
    }
    app.redraw();
  }

  function press() {
    if (ignored++ < cfg.ignoreClicks) return;
    if (cfg.popup) window.open(cfg.popup === "post" ? "/rehearsal-popup" : "/rehearsal-popup?ad");
    submit();
  }

  // wishes reads page=NAME:VALUE,… from the prompt's directive lines.
  function wishes(text) {
    const own = { retry: cfg.pageRetry, double: cfg.doubleSubmit };
    for (const [, list] of text.matchAll(/^!rehearsal .*?page=(\S+)/gm)) {
      for (const item of list.split(",")) own[item.split(":")[0]] = item.split(":")[1] ?? "chat";
    }
    return own;
  }

  const edits = {
    trim: (t) => t.trim(), crlf: (t) => t.replaceAll("\n", "\r\n"), nbsp: (t) => t.replaceAll("  ", " \u00a0"),
    collapse: (t) => t.replace(/\n{3,}/g, "\n\n"),
  };

  async function submit() {
    const text = (edits[cfg.edits] ?? ((t) => t))(state.text);
    if (!text.trim() || Files.busy() || state.running || state.dual.length > 1 || (cfg.maxTyped && text.length > cfg.maxTyped)) return;
    const own = wishes(text);
    set({ text: "", running: true, stoppable: false, response: "" });
    last = text;
    if (own.double === "chat") turn(text, own);
    await turn(text, own);
    set({ running: cfg.stopStays });
    loadList();
    if (cfg.askTitle) Api.post("/api/v2/chats/title", { chat_id: state.chat, messages: [{ role: "user", content: text }] }).catch(() => {});
  }

  // show puts a message of ours before its answer.
  function show(mine) {
    const i = state.messages.findIndex((m) => m.parent === mine.id);
    set({ messages: i < 0 ? [...state.messages, mine] : state.messages.toSpliced(i, 0, mine) });
  }

  async function turn(text, own) {
    const fid = crypto.randomUUID();
    let parent = state.messages.findLast((m) => m.role === "assistant" && !m.local)?.id ?? null;
    if (cfg.follows === "user") parent = state.messages.findLast((m) => m.role === "user")?.id ?? null;
    if (cfg.follows === "null") parent = null;
    const mine = { id: fid, role: "user", text };
    setTimeout(() => show(mine), cfg.lateRender);
    let chat = cfg.follows === "new" ? "" : state.chat;
    if (!chat) {
      const made = await Api.newChat(state.model, guest).catch(() => ({}));
      chat = made.data?.id;
      if (!chat) return refuse(fid, Turn.failure(made), text);
      set({ chat });
      if (cfg.urlBefore) address(chat);
    }
    const chosen = cfg.forget ? { thinking: "Auto", search: true } : state;
    const body = Api.sendBody({ chat, parent, text, model: state.model, guest, fid, thinking: chosen.thinking, search: chosen.search, files: Files.take() });
    if (cfg.follows === "half") body.messages[0].parentId = body.messages[0].parent_id = null;
    if (cfg.follows === "moves") history.pushState({}, "", "/c/" + crypto.randomUUID());
    if (cfg.popup === "post") localStorage.setItem("rehearsal-popup", JSON.stringify(body));
    if (own.double === "post") Api.send(body).catch(() => {});
    let reply;
    try {
      reply = await Turn.post(body, Number(own.retry));
    } catch {
      return fail(fid, Turn.errors.issue(state.model));
    }
    const on = listener(chat, mine);
    const type = reply.headers.get("content-type") ?? "";
    if (!/event-stream|json/.test(type)) return fail(fid, Turn.errors.issue(state.model));
    const end = await Turn.follow(reply, on);
    if (end === "cut" && !cfg.noResume) await pickUp(chat, text, on);
  }

  // pickUp goes on with an answer whose stream broke, be it before its first
  // frame was read: an error takes what is still unread with it.
  async function pickUp(chat, text, on) {
    if (!state.response) {
      const read = await Api.chat(chat).catch(() => ({}));
      const [mine, m] = read.data?.chat?.messages?.slice(-2) ?? [];
      if (m?.role !== "assistant" || mine.content !== text) return fail("", Turn.errors.unknown);
      on.created({ response_id: m.id, parent_id: m.parentId }, Turn.message(m));
    }
    await Turn.recover(chat, state.response, on);
  }

  // goOn is the Continue button: what comes of it is read from the chat.
  async function goOn(m) {
    if (state.running) return;
    set({ running: true, messages: state.messages.map((o) => (o.id === m.id ? { ...o, more: false } : o)) });
    const user = state.messages.findLast((o) => o.role === "user");
    const reply = await Api.goOn(m, user, state).catch(() => null);
    try {
      for await (const frame of Api.events(reply)) if (frame.choices?.[0]?.delta?.status === "finished" && frame.choices[0].delta.phase === "answer") break;
    } catch { /* the connection broke: the answer goes on without us */ }
    set({ running: false });
    await load(state.chat);
  }

  const address = (chat) => history.pushState({}, "", guest ? "/c/guest" : "/c/" + chat);

  // listener puts what a stream tells into the state.
  function listener(chat, mine) {
    const hold = cfg.earlyStop > 0;
    return {
      created(created, m) {
        if (!location.pathname.endsWith(chat)) address(chat);
        const rest = state.messages.filter((o) => o.id !== m.id);
        mine.id = m.parent = created.parent_id;
        set({ chat, response: state.response || m.id, stoppable: true, messages: [...rest, { ...m }] });
        if (created.response_index > 0) set({ dual: [state.response, m.id] });
      },
      frame(m) {
        const put = () => set({ messages: state.messages.map((o) => (o.id === m.id ? { ...m } : o)) });
        if (!hold) return put();
        if (m.done) { set({ running: false }); setTimeout(put, cfg.earlyStop); }
      },
      failed(text, m) { fail(m?.id, text); },
    };
  }

  // fail shows an error in the place of the answer.
  function fail(id, text) {
    const known = state.messages.find((m) => m.id === id && m.role === "assistant");
    if (known) return set({ messages: state.messages.map((m) => (m === known ? { ...m, error: text, done: true } : m)) });
    const m = { id: crypto.randomUUID(), role: "assistant", local: true, answer: "", titles: [], done: true, error: text };
    set({ messages: [...state.messages, m] });
  }

  // refuse takes a message back that found no chat.
  function refuse(fid, reason, text) {
    View.alert(reason);
    set({ messages: state.messages.filter((m) => m.id !== fid), text: state.text || text });
  }

  function stop() {
    if (state.chat) Api.stop(state.chat, state.response).catch(() => {});
  }

  async function loadList() {
    if (guest) return;
    const reply = await Api.chats(1).catch(() => ({}));
    if (Array.isArray(reply.data)) { set({ list: reply.data }); View.list(state, open); }
  }

  // open shows a chat and picks up its running answer.
  async function open(id) {
    history.pushState({}, "", "/c/" + id);
    await load(id);
  }

  async function load(id) {
    if (cfg.staleChat) {
      set({ chat: id, messages: cfg.decoy.map((m) => ({ ...m })) });
      await sleep(cfg.staleChat);
    }
    const reply = await Api.chat(id).catch(() => ({}));
    if (!reply.data?.chat) {
      View.alert(Turn.failure(reply));
      history.replaceState({}, "", "/");
      return set({ chat: "", messages: [] });
    }
    const messages = reply.data.chat.messages.map(Turn.message);
    set({ chat: id, messages, response: messages.at(-1)?.id ?? "" });
    if (messages.length && !messages.at(-1).done) {
      set({ running: true, stoppable: true });
      await Turn.recover(id, messages.at(-1).id, listener(id, {}));
      set({ running: cfg.stopStays });
    }
  }

  // hydrate takes over the server's HTML. What was typed before is lost.
  function hydrate() {
    field = at("text");
    if (cfg.replace) {
      const fresh = field.cloneNode();
      field.replaceWith(fresh);
      field = fresh;
    }
    field.value = "";
    typed = track(field);
    document.addEventListener("input", (e) => { if (e.target === field) changed(); });
    field.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); press(); }
    });
    at("new").addEventListener("click", (e) => {
      e.preventDefault();
      history.pushState({}, "", "/");
      set({ chat: "", response: "", messages: [], dual: [] });
    });
    for (const name of ["login", "signup"]) at(name)?.addEventListener("click", () => location.assign("/auth?action=signin"));
    View.on.more = goOn;
    Files.start(data.user);
    Controls.model(state, choose);
    Controls.thinking(state, think);
    Controls.search(state, flip);
    if (cfg.overlay) Controls.overlay(cfg.overlay);
    draw();
  }

  function choose(model) { set({ model }); Controls.model(state, choose); }
  function think(thinking) { set({ thinking }); Controls.thinking(state, think); }

  function flip(search) { set({ search }); Controls.search(state, flip); }

  window.__rehearsalPage = { hydrate, load, loadList, set, state, guest };
})();
