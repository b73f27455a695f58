// Markdown to HTML, as much of it as the rehearsal's answers use.
const Markdown = (() => {
  const { cls } = Core;
  const escape = (s) => s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

  function inline(text) {
    const kept = [];
    const keep = (html) => `\u0000${kept.push(html) - 1}\u0000`;
    text = text.replace(/(`+)([^]*?[^`])\1(?!`)/g, (_, t, code) => keep(`<code>${escape(code.trim())}</code>`));
    text = text.replace(/\$([^$\n]+)\$/g, (_, math) => keep(`<span class="${cls("katex")}">${escape(math)}</span>`));
    text = text.replace(/\\([\\_*|`])/g, (_, c) => keep(escape(c)));
    text = escape(text)
      .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, '<a href="$2" rel="noreferrer">$1</a>')
      .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
      .replace(/\*([^*\n]+)\*/g, "<em>$1</em>")
      .replace(/ {2}\n/g, "<br>");
    return text.replace(/\u0000(\d+)\u0000/g, (_, i) => kept[i]);
  }

  // Code lives in a box that shows its first lines only, as an editor does.
  function code(language, lines) {
    const shown = lines.slice(0, 30).map((l) => `<div class="${cls("view-line")}">${escape(l).replace(/ /g, "\u00a0")}</div>`).join("");
    return `<div class="${cls("qwen-markdown-code")}"><div class="${cls("qwen-markdown-code-header")}">${escape(language || "text")}</div>` +
      `<div class="${cls("qwen-markdown-code-body")}">${shown}</div></div>`;
  }

  function table(lines) {
    const cells = (line) => line.replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => inline(c.trim()));
    const row = (line, tag) => `<tr>${cells(line).map((c) => `<${tag}>${c}</${tag}>`).join("")}</tr>`;
    return `<table><thead>${row(lines[0], "th")}</thead><tbody>${lines.slice(2).map((l) => row(l, "td")).join("")}</tbody></table>`;
  }

  function listOf(lines) {
    const mark = /^(\s*)([-*]|\d+\.)\s+(.*)$/;
    const indent = (l) => l.match(mark)[1].length;
    const tag = /\d/.test(lines[0].match(mark)[2]) ? "ol" : "ul";
    const items = [];
    for (const line of lines) {
      if (indent(line) <= indent(lines[0])) items.push([line.match(mark)[3]]);
      else items.at(-1).push(line);
    }
    return `<${tag}>${items.map(([text, ...sub]) => `<li>${inline(text)}${sub.length ? listOf(sub) : ""}</li>`).join("")}</${tag}>`;
  }

  // take removes and returns the leading lines that match.
  function take(lines, test) {
    const out = [];
    while (lines.length && test(lines[0])) out.push(lines.shift());
    return out;
  }

  function block(lines) {
    const line = lines[0];
    let m;
    if (!line.trim()) return lines.shift(), "";
    if ((m = line.match(/^(`{3,})(\w*)\s*$/))) {
      lines.shift();
      const body = take(lines, (l) => l.trim() !== m[1]);
      lines.shift();
      return code(m[2], body);
    }
    if ((m = line.match(/^(#{1,6})\s+(.*)$/))) return lines.shift(), `<h${m[1].length}>${inline(m[2])}</h${m[1].length}>`;
    if (line.startsWith("$$")) {
      lines.shift();
      const body = take(lines, (l) => !l.startsWith("$$"));
      lines.shift();
      return `<div class="${cls("katex-display")}">${escape(body.join("\n"))}</div>`;
    }
    if (line.startsWith(">")) return `<blockquote>${render(take(lines, (l) => l.startsWith(">")).map((l) => l.replace(/^> ?/, "")).join("\n"))}</blockquote>`;
    if (line.startsWith("|")) return table(take(lines, (l) => l.startsWith("|")));
    if (/^ {4}|^\t/.test(line)) return code("", take(lines, (l) => /^ {4}|^\t/.test(l)).map((l) => l.replace(/^ {4}|^\t/, "")));
    if (/^\s*([-*]|\d+\.)\s+/.test(line)) return listOf(take(lines, (l) => /^\s*([-*]|\d+\.)\s+/.test(l)));
    const text = [lines.shift(), ...take(lines, (l) => l.trim() && !/^(`{3}|#|>|\||\$\$)/.test(l))];
    return `<p>${inline(text.join("\n"))}</p>`;
  }

  function render(text) {
    const lines = text.split("\n");
    let html = "";
    while (lines.length) html += block(lines);
    return html;
  }
  return { render };
})();
