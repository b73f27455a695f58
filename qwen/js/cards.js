// cards tells what the composer shows of its files: how many, whether one is
// still on its way (then a word stands where its size will), whether one failed.
function cards(site) {
  let list = [];
  for (const selector of site.cards) {
    list = find([selector]).map(({ element }) => element);
    if (list.length) break;
  }
  const outer = list.filter((element) => !list.some((other) => other !== element && other.contains(element)));
  const beside = (element) => { // what stands there beside the file's name
    const copy = element.cloneNode(true);
    for (const name of copy.querySelectorAll('[class*=name]')) name.remove();
    return copy.textContent || '';
  };
  return {
    count: outer.length,
    busy: outer.some((element) => /…|\.\.\.|%/.test(beside(element)) || !/\d/.test(beside(element))),
    failed: outer.some((element) => /error|fail/i.test(element.className)),
  };
}
