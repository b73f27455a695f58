// press clicks the send button from the page itself, for when something lies
// over it. Returns false when there is no usable button.
function press(site) {
  const found = button(site);
  if (found) found.element.click();
  return Boolean(found);
}
