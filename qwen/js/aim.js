// aim returns the point at which a mouse hits the send button, and whether
// something lies over it there. Returns null when there is no usable button.
function aim(site) {
  const found = button(site);
  if (!found) return null;
  const element = found.element;
  element.scrollIntoView({ block: 'center', behavior: 'instant' });
  const box = element.getBoundingClientRect();
  const x = box.left + box.width / 2;
  const y = box.top + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  return { x, y, covered: !(hit && (hit === element || element.contains(hit) || hit.contains(element))) };
}
