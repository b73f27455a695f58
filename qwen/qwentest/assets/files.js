// Files that go with a message: to the storage, then parsed, then in the body.
const Files = (() => {
  const { cfg, h, at, sleep } = Core;
  let list = [], account = "anonymous", opened = !cfg.filesMenu;

  const size = (n) => (n < 1024 ? n + " B" : (n / 1024).toFixed(1) + " KB");
  const dot = (name) => (name.lastIndexOf(".") > 0 ? name.lastIndexOf(".") : name.length);

  function draw() {
    at("files").replaceChildren(...list.map((f) => h("div", { class: "fileitem-btn" + (f.error ? " fileitem-error" : "") },
      h("span", { class: "fileitem-file-name" }, h("span", { class: "fileitem-file-name-text" }, f.name.slice(0, dot(f.name))), h("span", { class: "fileitem-file-name-ext" }, f.name.slice(dot(f.name)))),
      h("span", { class: "fileitem-file-size" }, f.error || (f.status === "uploaded" ? size(f.size) : f.status === "uploading" ? "Uploading…" : "Parsing…")))));
  }

  async function upload(f, file) {
    const kind = file.type.split("/")[0];
    const type = ["image", "video", "audio"].includes(kind) ? kind : "file";
    const token = await Api.post("/api/v2/files/getstsToken", { filename: f.name, filesize: String(f.size), filetype: type });
    if (!token.success) throw new Error(Turn.failure(token));
    f.id = token.data.file_id;
    f.url = token.data.file_url;
    f.kind = type;
    f.type = file.type || "text/plain";
    const put = await fetch(f.url, { method: "PUT", body: file, headers: { authorization: "OSS rehearsal" } });
    if (!put.ok) throw new Error("upload failed");
    if (type === "file") {
      f.status = "parsing";
      draw();
      const parse = await Api.post("/api/v2/files/parse", { file_id: f.id });
      if (!parse.success) throw new Error(Turn.failure(parse));
      for (let status = "running"; status !== "success";) {
        const reply = await Api.post("/api/v2/files/parse/status", { file_id_list: [f.id] });
        status = reply.data?.[0]?.status ?? "running";
        if (status === "failed") throw new Error("parse failed");
        await sleep(50);
      }
    }
    f.status = "uploaded";
  }

  function add(files) {
    for (const file of files) {
      const f = { name: file.name, size: file.size, status: "uploading", error: "", item: crypto.randomUUID() };
      list.push(f);
      upload(f, file).catch((e) => { f.error = String(e.message || e); View.alert(f.error); }).finally(draw);
    }
    draw();
  }

  const entry = (f) => ({
    type: f.kind === "image" ? "image" : "file",
    file: {
      id: f.id, user_id: account, hash: null, filename: f.name, size: f.size, created_at: Date.now(), update_at: Date.now(), data: {},
      meta: { name: f.name, size: f.size, content_type: f.type, parse_meta: { parse_status: f.status === "uploaded" ? "success" : "running" } },
    },
    id: f.id, url: f.url, name: f.name, size: f.size, status: f.status, progress: 0, error: "", itemId: f.item, uploadTaskId: f.item,
    file_class: f.kind === "image" ? "vision" : "document", showType: f.kind === "image" ? "image" : "file", greenNet: "success", collection_name: "",
  });

  // take gives the files for the body, and none from then on.
  function take() {
    const all = list.map(entry);
    list = [];
    draw();
    switch (cfg.fileSend) {
      case "none": return [];
      case "twice": return [...all, ...all];
      case "others": return [...all, { ...(all[0] ?? {}), name: "Pasted_Text_1.txt" }];
      case "renamed": return all.map((f) => ({ ...f, name: f.name + "_" }));
      case "reversed": return all.reverse();
    }
    return all;
  }

  function start(user) {
    if (user) account = user.id;
    at("modes").addEventListener("click", () => { opened = true; });
    at("upload").addEventListener("change", (e) => {
      if (opened) add([...e.target.files]);
      e.target.value = "";
    });
  }

  return { start, take, busy: () => cfg.fileSend !== "early" && list.some((f) => f.status !== "uploaded") };
})();
