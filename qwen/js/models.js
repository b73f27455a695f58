// models lists the models that the page's own data names.
function models(site) {
  const data = site.data.split('.').reduce((o, k) => (o == null ? undefined : o[k]), window);
  return ((data && data.models) || []).map((m) => ({
    id: String(m.id || ''), name: String(m.name || m.id || ''), thinks: m.info?.meta?.think_skip?.enable === false,
  }));
}
