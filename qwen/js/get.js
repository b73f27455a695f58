// get fetches a path of the site as the page itself does, and returns the
// reply as it came, never one from a cache. A reply that doesn't begin within
// the first limit, or isn't whole within the second (milliseconds), is given
// up: a punished request may hang instead of failing. version is the front
// end's, as its own calls name it, or empty.
async function get(path, version, first, whole) {
  const stop = new AbortController();
  const began = setTimeout(() => stop.abort(new Error('no reply')), first);
  const ended = setTimeout(() => stop.abort(new Error('the reply does not end')), whole);
  const ask = async (more) => {
    const headers = { Accept: 'application/json', source: 'web', 'X-Request-Id': crypto.randomUUID(), ...more };
    if (version) headers.Version = version;
    const reply = await fetch(path, { credentials: 'include', cache: 'no-store', signal: stop.signal, headers });
    clearTimeout(began);
    return {
      status: reply.status,
      actual: Number(reply.headers.get('x-actual-status-code') || 0),
      type: reply.headers.get('content-type') || '',
      path: new URL(reply.url).pathname,
      body: await reply.text(),
    };
  };
  try {
    const reply = await ask();
    // The cookie is the login. Where it isn't, the token that the page keeps
    // is; but that one may be older, so it comes second.
    const token = localStorage.getItem('token');
    const refused = reply.status === 401 || (reply.body.length < 1000 && reply.body.includes('401 Unauthorized'));
    return refused && token ? await ask({ Authorization: `Bearer ${token}` }) : reply;
  } catch (e) {
    return { status: 0, actual: 0, type: '', path: '', body: '', failed: String(e && e.message ? e.message : e) };
  } finally {
    clearTimeout(began);
    clearTimeout(ended);
  }
}
