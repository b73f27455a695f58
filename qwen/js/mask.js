// mask makes what the page shows fit to be kept for a person who repairs the
// site table: its structure stays, its texts do not. It returns the HTML of a
// masked copy, and covers the page's own texts for a picture. Only short labels
// of buttons, dialogs and alerts stay readable, and only those without a secret.
// The page is of no other use afterwards.
function mask(site, secrets, keepTitle) {
  const data = site.data.split('.').reduce((o, k) => (o == null ? undefined : o[k]), window);
  const name = String((data && data.user && data.user.name) || '');
  const low = [...secrets, ...(name.length > 2 ? [name] : [])].map((s) => s.toLowerCase());
  const clean = (text, most) => {
    const t = text.trim().toLowerCase();
    if (t.length > most || t.includes('@') || /\d{6}/.test(t)) return false;
    return !low.some((s) => t.includes(s) || (t.length >= 4 && s.includes(t)));
  };
  const notices = '[role=alert], [role=dialog], [class*=baxia], [class*=captcha i], [id*=captcha i], [id*=waf i]';
  const labels = 'button, [role=button], ' + notices;
  const lists = 'nav li, nav a, aside li, aside a, [class*=chat-item]';
  // A page offers questions to go on with as buttons, too: those are longer.
  const short = (text) => clean(text, 24) && text.trim().split(/\s+/).length <= 3;
  const readable = (element, text) => {
    if (!element || element.closest(lists)) return false;
    return element.closest(notices) ? clean(text, 120) : Boolean(element.closest(labels)) && short(text);
  };
  const blank = (text) => text.replace(/[\p{L}\p{N}\p{M}\p{S}]/gu, 'x');

  // The picture: every text is drawn as dots, by a style that the page's own
  // redrawing does not touch.
  for (const element of document.querySelectorAll(labels)) {
    if (readable(element, element.textContent)) element.setAttribute('data-shown', '');
  }
  const cover = new CSSStyleSheet();
  cover.replaceSync('*, *::before, *::after { -webkit-text-security: disc !important }' +
    '[data-shown], [data-shown] * { -webkit-text-security: none !important }' +
    'textarea, input, [contenteditable] { -webkit-text-fill-color: transparent !important; color: transparent !important }' +
    'nav img, aside img, main img, video { filter: blur(12px) !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, cover];

  const lengths = [...document.querySelectorAll('textarea, input')].map((e) => (e.value || '').length);
  const copy = document.documentElement.cloneNode(true);
  [...copy.querySelectorAll('textarea, input')].forEach((element, i) => {
    element.textContent = '';
    element.setAttribute('data-length', String(lengths[i] || 0));
  });
  for (const element of copy.querySelectorAll('script, style, noscript, template')) {
    element.textContent = '';
    if (element.content) element.replaceChildren();
  }
  const plain = /^(class|id|role|type|name|for|lang|dir|hidden|disabled|readonly|rows|cols|width|height|tabindex|rel|contenteditable|aria-(hidden|disabled|expanded|selected|checked|haspopup))$/;
  const words = /^(aria-label|placeholder|alt|title|data-[\w-]+)$/;
  for (const element of [copy, ...copy.querySelectorAll('*')]) {
    for (const { name, value } of [...element.attributes]) {
      const key = name.toLowerCase();
      const own = /^(script|iframe|link)$/i.test(element.tagName) || /^\/(?!\/)/.test(value);
      if (/^(href|src|action)$/.test(key) && own && !/^(data|blob|javascript):/i.test(value)) {
        element.setAttribute(name, value.split(/[?#]/)[0]);
        continue;
      }
      const keep = plain.test(key) ? value.length < 400 : key === 'placeholder' ? clean(value, 60) : words.test(key) && short(value);
      if (!keep || key === 'data-shown') element.removeAttribute(name);
    }
  }
  const walker = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_COMMENT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    if (node.nodeType === Node.COMMENT_NODE) node.remove();
    else if (!readable(node.parentElement, node.data)) node.data = blank(node.data);
  }
  const title = copy.querySelector('title');
  if (title) title.textContent = keepTitle && clean(document.title, 60) ? document.title : blank(document.title);
  return '<!doctype html>\n' + copy.outerHTML;
}
