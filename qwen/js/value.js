// value returns the text that the composer holds, or null without composer.
function value(site) {
  const found = composer(site);
  return found ? found.element.value : null;
}
