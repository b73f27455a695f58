// model chooses a model by the name that the page shows, and returns the name
// that it shows then; "" when the page has no list of models that is known.
async function model(site, name) {
  const words = (element) => element.innerText.split('\n')[0].replace(/[^\p{L}\p{N})]+$/u, '').trim();
  const opener = () => find(site.model)[0]?.element;
  if (!opener()) return '';
  if (words(opener()) === name) return name;
  opener().click();
  for (let tries = 0; tries < 40; tries++) {
    const row = find(site.models).map(({ element }) => element).find((element) => words(element) === name);
    if (row) {
      row.click();
      break;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  for (let tries = 0; tries < 40 && opener() && words(opener()) !== name; tries++) {
    await new Promise((done) => setTimeout(done, 50));
  }
  return opener() ? words(opener()) : '';
}
