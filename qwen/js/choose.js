// choose opens a list with one of the openers and picks the row of a name, and
// returns what the opener shows then; "" when the page has no opener that is
// known. Where no row has the name (the page speaks another language) the row at
// the index is taken, unless that is negative.
async function choose(site, openers, rows, name, index) {
  const words = (element) => element.innerText.split('\n')[0].replace(/[^\p{L}\p{N})]+$/u, '').trim();
  // A row may say more than the name beside it, in the same line.
  const named = (element) => words(element) === name ||
    [...element.querySelectorAll('*')].some((part) => part.textContent.trim() === name);
  const opener = () => find(openers)[0]?.element;
  const nap = () => new Promise((done) => setTimeout(done, 50));
  if (!opener()) return '';
  if (named(opener())) return name;
  const before = words(opener());
  // Some lists open on a click, others as soon as the button is down.
  const target = opener().querySelector('.ant-select-selector') || opener();
  for (const kind of ['mousedown', 'mouseup']) target.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true }));
  opener().click();
  for (let tries = 0; tries < 40; tries++) {
    const found = find(rows).map(({ element }) => element);
    const late = tries > 10 && index >= 0;
    const row = found.find(named) || (late ? found[index] : undefined);
    if (row) {
      row.click();
      break;
    }
    await nap();
  }
  for (let tries = 0; tries < 40 && opener() && words(opener()) === before; tries++) await nap();
  if (!opener()) return '';
  return named(opener()) ? name : words(opener());
}
