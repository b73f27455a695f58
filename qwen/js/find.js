// find returns the visible elements that a list of selectors matches, in the
// order of the list. A selector that this browser doesn't know is passed over.
function find(list) {
  return list.flatMap((selector) => {
    let found = [];
    try { found = [...document.querySelectorAll(selector)]; } catch (e) { return []; }
    return found.filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width > 0 && box.height > 0;
    }).map((element) => ({ element, selector }));
  });
}

// usable says that a button takes clicks.
function usable(element) {
  return !element.disabled && element.getAttribute('aria-disabled') !== 'true';
}

// writable says that a person could type there. Pages keep hidden twins of
// their composer to measure its height.
function writable(element) {
  return 'value' in element && !element.readOnly && !element.disabled &&
    !element.closest('[aria-hidden="true"]') && getComputedStyle(element).visibility !== 'hidden';
}

// composer is the visible element that holds the text, or undefined.
function composer(site) {
  return find(site.composer).find(({ element }) => writable(element));
}

// button is the visible send button that takes clicks, or undefined.
function button(site) {
  return find(site.send).find(({ element }) => usable(element));
}
