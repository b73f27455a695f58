"use strict";
// A service worker that stands between its page and the network.
oninstall = () => skipWaiting();
onactivate = (event) => event.waitUntil(clients.claim());
onfetch = (event) => event.respondWith(fetch(event.request));
