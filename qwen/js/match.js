// match tells for each list of selectors which entry matches the page now:
// {at: 1 for the first, 0 for none; of: how many there are; selector}.
function match(site) {
  const seen = (list, good) => {
    const at = list.findIndex((selector) => find([selector]).some(({ element }) => good(element))) + 1;
    return { at, of: list.length, selector: at ? list[at - 1] : '' };
  };
  const any = () => true;
  return {
    composer: seen(site.composer, writable),
    send: seen(site.send, usable),
    avatar: seen(site.avatar, any),
    log_in: seen(site.log_in, any),
    model: seen(site.model, any),
    models: seen(site.models, any),
  };
}
