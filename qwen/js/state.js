// state reports what the page shows now, without changing anything.
// site: the table of selectors. Returns a plain object; absent things are
// false, null or empty.
function state(site) {
  const exists = (list) => list.some((selector) => {
    try { return document.querySelector(selector) !== null; } catch (e) { return false; }
  });
  const global = (path) => path.split('.').reduce((o, k) => (o == null ? undefined : o[k]), window);

  let uid = false;
  try { uid = Boolean(window.__baxia__.getFYModule.getUidToken()); } catch (e) { uid = false; }

  const navigation = performance.getEntriesByType('navigation')[0];
  const data = global(site.data) || null;
  const user = (data && data.user) || null;
  const box = composer(site);
  const send = button(site);
  return {
    href: location.href,
    title: document.title,
    age: performance.now(),
    status: (navigation && navigation.responseStatus) || 0,
    loading: document.readyState === 'loading',
    initialised: site.ready.every((names) => names.split('|').some((name) => Boolean(global(name)))),
    uid,
    scripts: exists(site.scripts),
    data: data !== null,
    user: user ? { id: String(user.id || ''), expires: Number(user.expires_at || 0) } : null,
    composer: box ? box.selector : '',
    length: box ? box.element.value.length : 0,
    send: send ? send.selector : '',
    stop: find(site.stop).length > 0,
    avatar: find(site.avatar).length > 0,
    logIn: find(site.log_in).length > 0,
    chooser: find(site.chooser).length > 0,
    punish: find(site.punish).length > 0,
    blocked: exists(site.blocked),
  };
}
