// fill puts the whole text into the composer at once, the way a controlled
// input takes it: the native value setter, then one bubbling input event.
// Returns what the composer holds right after, or null without composer.
function fill(site, text) {
  const found = composer(site);
  if (!found) return null;
  const element = found.element;
  const prototype = element instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  element.focus();
  Object.getOwnPropertyDescriptor(prototype, 'value').set.call(element, text);
  element.dispatchEvent(new Event('input', { bubbles: true }));
  return element.value;
}
