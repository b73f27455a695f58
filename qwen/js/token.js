// token keeps the login token where the page looks for it. Without replace, one
// that is there stays. Returns the one that is there then.
function token(value, replace) {
  if (value && (replace || !localStorage.getItem('token'))) localStorage.setItem('token', value);
  return localStorage.getItem('token') || '';
}
