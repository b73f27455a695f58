// token keeps the login token where the page looks for it.
function token(value) {
  if (value) localStorage.setItem('token', value);
  return localStorage.getItem('token') || '';
}
