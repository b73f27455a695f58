// toggle brings the page's switch for searching the web into the wanted state,
// and returns the state that it shows then: "on", "off", or "" when the page has
// no switch that is known. It may be in the menu of modes, which is opened then.
async function toggle(site, want) {
  const nap = () => new Promise((done) => setTimeout(done, 50));
  const control = () => find(site.search)[0]?.element;
  const on = (element) => ['aria-pressed', 'aria-checked', 'aria-selected'].some((name) => element.getAttribute(name) === 'true') ||
    /(^|[\s-])(active|checked|selected|on)(\s|$)/.test(element.className);
  let menu;
  if (!control()) {
    menu = find(site.modes)[0]?.element;
    if (!menu) return '';
    menu.click();
    for (let tries = 0; tries < 10 && !control(); tries++) await nap();
  }
  if (control() && on(control()) !== want) {
    control().click();
    for (let tries = 0; tries < 10 && control() && on(control()) !== want; tries++) await nap();
  }
  const shown = control() ? (on(control()) ? 'on' : 'off') : '';
  if (menu) menu.click(); // an open menu may lie over the composer
  return shown;
}
