// menu clicks what opens and closes the menu of modes; false if there is none.
function menu(site) {
  const found = find(site.modes)[0];
  if (found) found.element.click();
  return Boolean(found);
}
