// post sends a small JSON body to a path of the site, as the page itself does,
// and returns the reply as it came. No reply within the limit (milliseconds)
// counts as none.
async function post(path, body, limit) {
  const none = { status: 0, actual: 0, type: '', path: '', body: '' };
  try {
    const reply = await fetch(path, {
      method: 'POST',
      credentials: 'include',
      signal: AbortSignal.timeout(limit),
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return {
      status: reply.status,
      actual: Number(reply.headers.get('x-actual-status-code') || 0),
      type: reply.headers.get('content-type') || '',
      path: new URL(reply.url).pathname,
      body: await reply.text(),
    };
  } catch (e) {
    return { ...none, failed: String(e && e.message ? e.message : e) };
  }
}
