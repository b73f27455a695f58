// What the page does at start and for as long as it is open.
(async () => {
  const { cfg, sleep } = Core;
  const page = window.__rehearsalPage;
  const data = window.__prerendered_data;
  if (data.user) localStorage.setItem("token", data.user.token);
  else localStorage.removeItem("token");

  async function serviceWorker() {
    if (!cfg.serviceWorker || !navigator.serviceWorker) return;
    const controlled = new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, { once: true }));
    await navigator.serviceWorker.register("/sw.js?" + cfg.serviceWorker).catch(() => {});
    if (cfg.serviceWorker !== "install" && !navigator.serviceWorker.controller) await Promise.race([controlled, sleep(2000)]);
  }

  function dialogs() {
    if (cfg.dialog === "alert") setTimeout(() => alert("Welcome to Qwen Studio"), 0);
    if (cfg.dialog === "beforeunload") addEventListener("beforeunload", (e) => { e.preventDefault(); e.returnValue = "leave?"; });
  }

  async function background() {
    for (let i = 0; ; i++) {
      await sleep(cfg.background);
      await fetch(i % 2 ? "/api/v2/configs/setting-config" : "/api/models", { credentials: "include" }).then((r) => r.text()).catch(() => {});
    }
  }

  await serviceWorker();
  await sleep(cfg.hydration - performance.now());
  page.hydrate();
  if (cfg.draft) setTimeout(() => page.set({ text: cfg.draft }), cfg.draftDelay);
  if (cfg.guestPopup && page.guest) Controls.guestPopup();
  dialogs();
  Api.json("/api/v2/configs/").catch(() => {});
  Api.json("/api/v1/auths/").catch(() => {});
  Api.post("/api/v2/users/status", {
    typarms: { typarm1: "web", typarm3: "prod", typarm4: "qwen_chat", typarm5: "product", orgid: "tongyi", cdn_version: cfg.version },
  }).catch(() => {});
  if (cfg.background > 0) background();
  await Api.ready();
  const id = location.pathname.match(/^\/c\/([0-9a-f-]{36})$/)?.[1];
  if (id) page.load(id);
  page.loadList();
})();
