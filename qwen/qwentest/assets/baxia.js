// A stand-in for the anti-bot scripts: it becomes ready a while after a cold
// load, signs requests from then on and shows a dialog when a reply says that
// a person must prove to be one. It measures nothing.
(() => {
  const ready = window.__rehearsal?.ready ?? 130;
  const plain = window.fetch;
  const uid = "T2gA" + crypto.randomUUID().replaceAll("-", "");
  let token = "";

  const signed = (url) => /^\/api\/v[12]\/(chats(\/|$|\?)|chat\/completions|files\/getstsToken)/.test(url);

  function showDialog(data) {
    if (document.querySelector(".baxia-dialog")) return;
    const dialog = document.createElement("div");
    dialog.className = "baxia-dialog";
    dialog.style.cssText = "position:fixed;inset:0;background:#0006;display:grid;place-items:center;z-index:9999";
    const frame = document.createElement("iframe");
    frame.id = "baxia-dialog-content";
    frame.style.cssText = "width:420px;height:320px;border:0;background:#fff;border-radius:12px";
    frame.src = "/_____tmd_____/punish?" + String(data?.url ?? "").split("?")[1];
    dialog.append(frame);
    document.body.append(dialog);
    addEventListener("message", function solved(event) {
      if (event.source !== frame.contentWindow || event.data !== "solved") return;
      removeEventListener("message", solved);
      dialog.remove();
    });
  }

  async function inspect(reply) {
    if (!/json|event-stream/.test(reply.headers.get("content-type") ?? "")) return;
    if (/event-stream/.test(reply.headers.get("content-type")) && !reply.headers.get("content-length")) return;
    const body = await reply.clone().text().catch(() => "");
    if (!body.includes("FAIL_SYS_USER_VALIDATE") || !body.startsWith("{")) return;
    const parsed = JSON.parse(body);
    if (parsed.ret?.[0] === "FAIL_SYS_USER_VALIDATE") showDialog(parsed.data);
  }

  async function patched(input, init = {}) {
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    if (url.origin === location.origin && signed(url.pathname)) {
      const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
      headers.set("bx-ua", "231!" + btoa(uid + performance.now()));
      headers.set("bx-umidtoken", token || "placeholder");
      headers.set("bx-v", "2.5.37");
      init = { ...init, headers };
    }
    const reply = await plain.call(window, input, init);
    inspect(reply);
    return reply;
  }

  // In three steps, as on the real page: the object, the patched fetch with a
  // placeholder, the token.
  setTimeout(() => { window.baxiaCommon = { version: "2.5.37" }; }, ready * 0.4);
  setTimeout(() => {
    window.__baxia__ = { getFYModule: { getUidToken: () => token, getFYToken: () => token } };
    window.fetch = patched;
  }, ready * 0.7);
  setTimeout(() => {
    token = uid;
    window.__baxia__.baxiaPromptInit = true;
    window.baxiaInitialized = true;
  }, ready);
})();
