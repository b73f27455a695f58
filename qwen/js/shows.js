// shows reports whether the page shows a message, by the id with which its
// element's own id ends.
function shows(message) {
  return document.querySelector('[id$="' + CSS.escape(message) + '"]') !== null;
}
