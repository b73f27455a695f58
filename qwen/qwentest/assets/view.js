// Drawing: from the state to the document, changing only what differs.
const View = (() => {
  const { cfg, h, cls, at } = Core;
  const labels = cfg.labels;
  const drawn = new Map(); // message id -> {node, key}
  const on = { more() {} }; // what the page does

  // action makes one button under an answer.
  const action = (name, label) => h("button", { class: "qwen-chat-package-comp-new-action-control-container-" + name, type: "button", "aria-label": label }, label);

  function userMessage(m) {
    return h("div", { class: "qwen-chat-message qwen-chat-message-user", id: "qwen-chat-message-user-" + m.id },
      h("div", { class: "user-message-content" }, m.text));
  }

  function thinking(m) {
    if (!m.titles?.length) return [];
    const title = m.titles.at(-1);
    if (m.thought) {
      const card = h("details", { class: "qwen-chat-thinking-status-card-completed" }, h("summary", {}, "Thinking completed"));
      m.thoughts.forEach((t) => card.append(h("p", {}, t)));
      return [card];
    }
    return [h("div", { class: "qwen-chat-status-card" }, h("span", { class: "qwen-chat-status-card-title-animate" }, title + "…"))];
  }

  function footer(m) {
    const bar = h("div", { class: "response-message-footer" }, action("copy", "Copy"));
    bar.firstChild.classList.add(cls("copy-response-button"));
    if (m.more) bar.append(h("button", { class: "answer-more", type: "button", onclick: () => on.more(m) }, labels.Continue));
    if (m.done && !m.error) bar.append(action("good", "Good"), action("bad", "Bad"), action("share", "Share"), action("regenerate", "Regenerate"));
    return bar;
  }

  function assistantMessage(m, dual) {
    const content = h("div", { class: "response-message-content phase-answer" });
    const markdown = h("div", { class: "qwen-markdown" });
    markdown.innerHTML = Markdown.render(m.answer || "");
    content.append(h("div", { class: "custom-qwen-markdown" }, markdown));
    const body = h("div", { class: "chat-response-message", id: "chat-response-message-" + m.id }, ...thinking(m), content);
    if (m.error) body.append(h("div", { class: "response-error-message", role: "alert" }, m.error));
    body.append(footer(m));
    if (dual) body.append(h("button", { class: "smrm-card__prefer-btn", type: "button", onclick: () => dual(m.id) }, "I prefer this response"));
    return h("div", {
      class: "qwen-chat-message qwen-chat-message-assistant qwen-chat-message-awaiting-response" + (dual ? " qwen-chat-message-dual-message" : ""),
      id: "qwen-chat-message-assistant-" + m.id,
    }, body);
  }

  // messages brings the list up to date; a node lives as long as its message.
  function messages(state, prefer) {
    const box = at("messages");
    const shown = cfg.virtual ? state.messages.slice(-2) : state.messages;
    const ids = new Set(shown.map((m) => m.id));
    for (const [id, d] of drawn) if (!ids.has(id)) { d.node.remove(); drawn.delete(id); }
    const dual = state.dual.length > 1 ? state.dual : [];
    shown.forEach((m, i) => {
      const pair = dual.includes(m.id);
      const key = JSON.stringify([m, pair]);
      const old = drawn.get(m.id);
      let node = old?.node;
      if (!old || old.key !== key) {
        node = m.role === "user" ? userMessage(m) : assistantMessage(m, pair && prefer);
        old?.node.replaceWith(node);
        drawn.set(m.id, { node, key });
      }
      if (box.children[i] !== node) box.insertBefore(node, box.children[i] ?? null);
    });
    at("greeting").hidden = state.messages.length > 0;
    if (state.running) box.parentElement.scrollTop = box.parentElement.scrollHeight;
    at("pair")?.remove();
    if (dual.length) box.append(h("div", { class: "smrm", "data-r": "pair" }, "Which response do you prefer?"));
  }

  // button draws what stands at the right of the composer: stop, send, or the
  // voice control when there is nothing to send.
  function button(state, submit, stop) {
    const want = state.running ? "stop" : state.text.trim() ? "send" : "omni";
    const box = at("send");
    if (box.dataset.now !== want) {
      box.dataset.now = want;
      box.replaceChildren(want === "omni"
        ? h("div", { class: "omni-button-content-btn", role: "img", "aria-label": "Omni" }, "≋")
        : h("div", { class: "chat-prompt-send-button" }, want === "send"
          ? cfg.strange ? h("div", { class: "send-button", "data-go": true, onclick: submit }, "↑")
            : h("button", { class: "send-button", type: "button", "aria-label": labels.Send, onclick: submit }, "↑")
          : h("button", { class: "stop-button", type: "button", "aria-label": labels.Stop, onclick: stop }, "■")));
    }
    const stopper = want === "stop" && box.querySelector("button");
    if (stopper) stopper.disabled = !state.stoppable;
  }

  function list(state, open) {
    at("list").replaceChildren(...state.list.map((c) => h("div", { class: "chat-item" },
      h("a", { class: "chat-item-drag-link", "aria-label": "chat-item", href: "/c/" + c.id, onclick: (e) => { e.preventDefault(); open(c.id); } }, c.title),
      h("button", { class: "chat-item-menu", type: "button", "aria-label": "Chat Menu" }, "⋯"))));
  }

  function alert(text) {
    const note = h("div", { class: "ant-message-notice", role: "alert" }, text);
    at("alerts").append(note);
    setTimeout(() => note.remove(), 8000);
  }
  return { messages, button, list, alert, on };
})();
