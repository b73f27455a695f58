// A service worker that sends every request on itself. The mode is in the
// script's query: install, claim, or retry (claims, and repeats failed POSTs).
const mode = self.location.search.slice(1);

self.addEventListener("install", () => { if (mode !== "install") self.skipWaiting(); });
self.addEventListener("activate", (event) => { if (mode !== "install") event.waitUntil(self.clients.claim()); });

async function proxied(request) {
  const again = mode === "retry" && request.method === "POST" ? request.clone() : null;
  try {
    return await fetch(request);
  } catch (e) {
    if (!again) throw e;
    return fetch(again);
  }
}

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate") event.respondWith(proxied(event.request));
});
