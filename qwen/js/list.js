// list opens the list of models, and reports whether there is something to
// open it with.
function list(site) {
  const opener = find(site.model)[0];
  if (opener) opener.element.click();
  return Boolean(opener);
}
