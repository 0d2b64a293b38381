// What stands out in the lake, and what it lacks: counted after the page is there.

import { api, ask, element, told } from "/static/ui.js";

const part = (id) => document.getElementById(id);

function written(q) {
  return q < 0.001 ? "q < 0.001" : `q = ${q.toFixed(3)}`;
}

try {
  const found = await ask(api("/findings"));
  const base = `/lakes/${encodeURIComponent(document.body.dataset.lake)}`;
  part("findings").replaceChildren(...found.findings.map((f) => element("li", {},
    element("a", { href: base + (f.page ?? `/sql?q=${encodeURIComponent(f.sql)}`) }, f.title),
    element("span", {}, `${f.finding}, ${written(f.q)}`))));
  part("findings").hidden = !found.findings.length;
  part("findings-state").textContent = found.findings.length
    ? `The surest differences among ${found.looked_at.toLocaleString("en")} values with an interval; q bounds how many of such are chance.`
    : `None of ${found.looked_at.toLocaleString("en")} values with an interval differs more surely than chance allows.`;
  part("missing-list").replaceChildren(...found.missing.map((m) => element("li", {},
    `${m.why}: ${m.titles.join(", ")}`, ...m.commands.map((command) => element("pre", {}, command)))));
  part("missing").hidden = !found.missing.length;
} catch (error) {
  part("findings-state").textContent = told(error);
}
