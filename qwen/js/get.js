// get fetches a path of the site as the page itself does, and returns the
// reply as it came. A reply that doesn't begin within the limit (milliseconds)
// is given up: a punished request may hang instead of failing.
async function get(path, limit) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), limit);
  try {
    const reply = await fetch(path, { credentials: 'include', signal: stop.signal, headers: { Accept: 'application/json' } });
    return {
      status: reply.status,
      actual: Number(reply.headers.get('x-actual-status-code') || 0),
      type: reply.headers.get('content-type') || '',
      path: new URL(reply.url).pathname,
      body: await reply.text(),
    };
  } catch (e) {
    return { status: 0, actual: 0, type: '', path: '', body: '', failed: String(e && e.message ? e.message : e) };
  } finally {
    clearTimeout(timer);
  }
}
