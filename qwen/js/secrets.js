// secrets lists what the page keeps that must not be kept elsewhere: its stored
// values, and who is logged in.
function secrets(site) {
  const found = [];
  for (const store of [localStorage, sessionStorage]) {
    for (let i = 0; i < store.length && i < 200; i++) found.push(store.getItem(store.key(i)) || '');
  }
  const data = site.data.split('.').reduce((o, k) => (o == null ? undefined : o[k]), window);
  const user = (data && data.user) || {};
  found.push(String(user.token || ''), String(user.email || ''), document.cookie);
  return found.filter((s) => s.length >= 4 && s.length <= 20000);
}
