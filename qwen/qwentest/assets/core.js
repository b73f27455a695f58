// What a React page does to its fields and its drawing, in little: a value
// tracker that tells typing from assignment, controlled text, batched drawing.
const Core = (() => {
  const cfg = window.__rehearsal;

  // cls gives class names in the markup the page is served in.
  const cls = (names) => (cfg.renamed ? names.split(" ").map(rename).join(" ") : names);
  const rename = (name) => {
    let h = 0x811c9dc5;
    for (const ch of name) h = Math.imul(h ^ ch.charCodeAt(0), 0x01000193) >>> 0;
    return "x" + h.toString(36);
  };

  function h(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === false) continue;
      if (key === "class") node.className = cls(value);
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }

  // track hides the node's value behind a property of its own. An assignment
  // is then known to be the program's; only what reached the node otherwise
  // counts as a person's typing.
  function track(node) {
    const native = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(node), "value");
    let known = native.get.call(node);
    Object.defineProperty(node, "value", {
      configurable: true,
      get() { return native.get.call(this); },
      set(v) { known = String(v); native.set.call(this, v); },
    });
    return () => {
      const now = native.get.call(node);
      if (now === known) return false;
      known = now;
      return true;
    };
  }

  // store keeps the page's state and draws once per batch of changes.
  function store(state, draw) {
    let due = false;
    const schedule = cfg.drawByFrame ? requestAnimationFrame : (f) => Promise.resolve().then(f);
    const redraw = () => {
      if (due) return;
      due = true;
      schedule(() => { due = false; draw(state); });
    };
    return { state, redraw, set(patch) { Object.assign(state, patch); redraw(); } };
  }

  const at = (name) => document.querySelector(`[data-r="${name}"]`);
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  return { cfg, cls, h, track, store, at, sleep };
})();
