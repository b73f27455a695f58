// fill puts the whole text into the composer at once, the way a controlled
// input takes it: the native value setter, then one bubbling input event.
// Returns false when there is no composer.
function fill(site, text) {
  const found = composer(site);
  if (!found) return false;
  const element = found.element;
  const prototype = element instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  element.focus();
  Object.getOwnPropertyDescriptor(prototype, 'value').set.call(element, text);
  element.dispatchEvent(new Event('input', { bubbles: true }));
  return true;
}
