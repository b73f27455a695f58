// input is the page's element that takes files, hidden or not, or null.
function input(site) {
  for (const selector of site.files) {
    let found = null;
    try { found = document.querySelector(selector); } catch (e) { continue; }
    if (found && found.type === 'file') return found;
  }
  return null;
}
