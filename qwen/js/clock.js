// clock asks the site for the time: its Date header in milliseconds, 0 if it
// sent none, and this machine's time before and after.
async function clock(path, limit) {
  const before = Date.now();
  try {
    const reply = await fetch(path, { credentials: 'include', cache: 'no-store', signal: AbortSignal.timeout(limit) });
    return { site: Date.parse(reply.headers.get('date') || '') || 0, before, after: Date.now() };
  } catch (e) {
    return { site: 0, before, after: Date.now() };
  }
}
