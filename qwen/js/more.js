// more returns the point at which a mouse hits the button that goes on with an
// answer, and whether something lies over it there; press clicks it from within
// the page instead. The button stands in the answer's own element, or it is the
// page's only one. Returns null when there is none.
function more(site, message, press) {
  const word = (element) => (element.getAttribute('aria-label') || element.innerText || '').trim().toLowerCase();
  const words = site.continue_words.map((w) => w.toLowerCase());
  const listed = find(site.continue).map(({ element }) => element);
  const spoken = find(['button', '[role=button]']).map(({ element }) => element).filter((element) => words.includes(word(element)));
  const home = document.querySelector('[id$="' + CSS.escape(message) + '"]');
  const pick = (all) => {
    const good = [...new Set(all)].filter((element) => usable(element) && !element.closest('nav, aside'));
    const own = home ? good.filter((element) => home.contains(element)) : [];
    return own.length === 1 ? own[0] : own.length === 0 && good.length === 1 ? good[0] : null;
  };
  const element = pick(listed) || pick(spoken);
  if (!element) return null;
  element.scrollIntoView({ block: 'center', behavior: 'instant' });
  const box = element.getBoundingClientRect();
  const x = box.left + box.width / 2;
  const y = box.top + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  if (press) element.click();
  return { x, y, covered: !(hit && (hit === element || element.contains(hit) || hit.contains(element))) };
}
