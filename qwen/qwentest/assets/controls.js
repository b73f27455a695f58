// The controls round the composer: model, thinking mode, overlays.
const Controls = (() => {
  const { cfg, h, at } = Core;
  const name = (id) => cfg.models.find((m) => m.id === id)?.name ?? id;

  function toggle(menu) { menu.hidden = !menu.hidden; }

  // model draws the selector of the chosen generation of the markup.
  function model(state, choose) {
    const row = (m) => h("div", {
      class: cfg.jun ? "ant-dropdown-menu-item" : "wms-list__item", role: "option", "aria-selected": String(m.id === state.model),
      onclick: () => { choose(m.id); menu.hidden = true; },
    }, h("span", {}, m.name), ...(cfg.jun ? [] : more(m)));
    // In August a row says more in the same line: what the model is good at, and
    // a button that is not for choosing it.
    const more = (m) => [h("span", {}, " for " + m.id.split("-").pop()),
      h("button", { class: "wms-list__pin-action", type: "button", onclick: (e) => e.stopPropagation() }, "Set as default")];
    const menu = h("div", { class: cfg.jun ? "ant-dropdown" : "wms-list", role: "listbox", hidden: true }, ...cfg.models.map(row));
    const label = h("span", { class: "model-label" }, name(state.model));
    const open = cfg.jun
      ? h("span", { class: "ant-dropdown-trigger", onclick: () => toggle(menu) }, h("div", { class: "model-selector-text" }, label, " ▾"))
      : h("button", { class: "wms-trigger", type: "button", "aria-label": "Select Model", onclick: () => toggle(menu) }, label, " ▾");
    at("model").replaceChildren(open, menu);
  }

  // thinking is a select as the page's library makes it: it opens on mousedown.
  function thinking(state, choose) {
    const words = (mode) => cfg.labels.Thinking[["Auto", "Thinking", "Fast"].indexOf(mode)];
    const option = (mode) => h("div", { class: "ant-select-item-option", onclick: () => { choose(mode); menu.hidden = true; } }, words(mode));
    const menu = h("div", { class: "ant-select-dropdown", hidden: true }, ...["Auto", "Thinking", "Fast"].map(option));
    at("thinking").replaceChildren(
      h("div", { class: "ant-select qwen-select-thinking", onmousedown: () => toggle(menu) },
        h("span", { class: "qwen-select-thinking-label-text" }, words(state.thinking))), menu);
  }

  // search draws the switch for searching the web: a button of its own in June,
  // an item of the menu of modes since.
  function search(state, flip) {
    const bar = at("modes");
    const word = cfg.labels.Search;
    if (cfg.jun) {
      bar.parentElement.querySelector(".web-search-btn")?.remove();
      bar.after(h("button", { class: "web-search-btn", type: "button", "aria-pressed": String(state.search), onclick: () => flip(!state.search) }, word));
      return;
    }
    const menu = bar.parentElement.querySelector("ul") ?? h("ul", { class: "mode-select-menu", role: "menu", hidden: true });
    menu.replaceChildren(h("li", {
      class: "mode-select-common-item", role: "menuitemcheckbox", "data-menu-id": "rc-menu-uuid-search",
      "aria-checked": String(state.search), onclick: () => flip(!state.search),
    }, word));
    if (!menu.isConnected) {
      bar.after(menu);
      bar.addEventListener("click", () => toggle(menu));
    }
  }

  // guestPopup asks a guest to log in.
  function guestPopup() {
    const box = h("div", { class: "guest-popup", role: "dialog" }, h("p", {}, "Log in for more."),
      h("a", { href: "/auth?action=signin" }, cfg.labels.LogIn),
      h("button", { type: "button", onclick: () => box.remove() }, "Stay logged out"));
    document.body.append(box);
  }
  // overlay puts something over the page: the question which of two answers is
  // better, or a rating that lies over the composer's buttons.
  function overlay(kind) {
    if (kind === "chooser") {
      const card = () => h("div", { class: "smrm-card" }, h("button", { class: "smrm-card__prefer-btn", type: "button" }, "I prefer this response"));
      at("messages").append(h("div", { class: "smrm" }, "Which response do you prefer?", card(), card()));
      return;
    }
    const box = h("div", { class: "satisfaction-rating__box", style: "position:fixed;bottom:0;left:0;right:0;height:240px;z-index:9;background:#fffc" }, "How do you like it?");
    document.body.append(box);
  }
  return { model, thinking, search, guestPopup, overlay };
})();
