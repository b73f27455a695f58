// One turn of a chat: sending, following the stream, picking it up again.
const Turn = (() => {
  const { cfg, sleep } = Core;
  const errors = { issue: (model) => `Oops! There was an issue connecting to ${model}`, unknown: "An unexpected error occurred. Please try again later" };

  // message turns a message of the API into one of the page.
  function message(m) {
    if (m.role === "user") return { id: m.id, role: "user", text: m.content };
    const parts = m.content_list ?? [];
    const think = parts.find((p) => p.phase === "thinking_summary");
    return {
      id: m.id, role: "assistant", done: m.done, error: m.error ? m.error.details || errors.unknown : "",
      titles: think?.extra.summary_title.content ?? [], thoughts: think?.extra.summary_thought.content ?? [], thought: think?.status === "finished",
      answer: parts.filter((p) => p.phase === "answer").map((p) => p.content).join("") || m.content,
      more: parts.findLast((p) => p.phase === "answer")?.extra?.finish_reason === "length",
    };
  }

  // failure finds the words for a reply that is no stream.
  function failure(v) {
    if (Array.isArray(v.ret)) return errors.unknown;
    const e = v.error ?? v.data ?? {};
    if (e.code === "RateLimited") return `${e.details} Try again in ${e.num} hours.`;
    return [e.details ?? e.message ?? errors.unknown].flat().join(" ");
  }

  // fold puts one frame of a stream into its message.
  function fold(m, frame) {
    const delta = frame.choices?.[0]?.delta;
    if (!delta) return;
    if (delta.phase === "thinking_summary") {
      m.titles = delta.extra.summary_title.content;
      m.thoughts = delta.extra.summary_thought.content;
      m.thought = delta.status === "finished";
      return;
    }
    m.thought = true;
    if (delta.phase !== "answer") return;
    m.answer += delta.content;
    if (delta.extra?.finish_reason === "length") m.more = true;
    if (delta.status === "finished") m.done = true;
  }

  // follow reads a stream to its end: "done", "failed" or "cut".
  async function follow(reply, on) {
    const byID = new Map();
    try {
      for await (const frame of Api.events(reply)) {
        const created = frame["response.created"];
        if (created) {
          byID.set(created.response_id, { id: created.response_id, role: "assistant", answer: "", titles: [], thoughts: [], done: false, error: "" });
          on.created(created, byID.get(created.response_id));
        } else if (frame.error || frame.success === false || frame.ret) {
          return on.failed(failure(frame), byID.get(frame.response_id) ?? [...byID.values()][0]), "failed";
        } else if (frame.data?.status === false) {
          return "cut";
        } else if (byID.has(frame.response_id)) {
          fold(byID.get(frame.response_id), frame);
          on.frame(byID.get(frame.response_id));
          if ([...byID.values()].every((m) => m.done)) return "done";
        }
      }
    } catch { /* the connection broke: the answer goes on without us */ }
    return "cut";
  }

  // post sends the body; on a broken network as often as the page is set to.
  async function post(body, retries) {
    for (;;) {
      try {
        return await Api.send(body);
      } catch (e) {
        if (retries-- <= 0) throw e;
        await sleep(50);
      }
    }
  }

  // recover gets the rest of an answer whose stream broke.
  async function recover(chat, id, on) {
    for (let i = 0; i < 5; i++) {
      const reply = await Api.resume(chat, id).catch(() => null);
      if (reply && (reply.headers.get("content-type") ?? "").includes("event-stream")) {
        if ((await follow(reply, on)) !== "cut") return;
      }
      const read = await Api.chat(chat).catch(() => ({}));
      const found = read.data?.chat?.messages?.find((m) => m.id === id);
      if (found) on.frame(message(found));
      if (found?.done) return;
      await sleep(300);
    }
  }
  return { message, failure, follow, post, recover, errors };
})();
