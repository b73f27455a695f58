// resume takes up an answer's stream that broke, as the page itself does, and
// reads it to its end. It returns how that was: "finished", "ended" (the site says
// that nothing is live any more), or "broken". What the stream holds is not kept.
async function resume(path, version, first) {
  const stop = new AbortController();
  const began = setTimeout(() => stop.abort(), first);
  try {
    const headers = { Accept: 'text/event-stream', source: 'web', 'X-Request-Id': crypto.randomUUID() };
    if (version) headers.Version = version;
    const reply = await fetch(path, { credentials: 'include', cache: 'no-store', signal: stop.signal, headers });
    clearTimeout(began);
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      const { value, done } = await reader.read();
      rest += value || '';
      const lines = rest.split('\n');
      rest = done ? '' : lines.pop();
      for (const line of lines) {
        const text = line.trim().replace(/^data: ?/, '');
        if (!text.startsWith('{')) continue;
        let frame;
        try { frame = JSON.parse(text); } catch (e) { continue; }
        const delta = (frame.choices && frame.choices[0] && frame.choices[0].delta) || {};
        const over = delta.phase === 'answer' && delta.status === 'finished';
        if (over || frame.error || frame.ret || frame.success !== undefined) {
          reader.cancel().catch(() => {});
          return over ? 'finished' : 'ended';
        }
      }
      if (done) return 'broken';
    }
  } catch (e) {
    return 'broken';
  } finally {
    clearTimeout(began);
  }
}
