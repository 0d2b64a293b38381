// What stands out in the lake, and what it lacks: counted after the page is there. What is pinned to the report.

import { api, ask, element, pin, pins, told } from "/static/ui.js";

const part = (id) => document.getElementById(id);

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

function showPins() {
  const all = pins();
  part("pins").hidden = !all.length;
  part("pins-list").replaceChildren(...all.map(({ call, page }) => {
    const button = element("button", { type: "button" }, "Unpin");
    button.setAttribute("aria-label", `Unpin ${call}`);
    button.addEventListener("click", () => { pin(call, page, false); showPins(); });
    return element("li", {}, element("a", { href: page.startsWith("/lakes/") ? page : "#" }, call), button);
  }));
  const words = ["counterbalance", "report", part("pins").dataset.place, "-o", "report.html", ...all.flatMap(({ call }) => ["--pin", call])];
  part("pins-command").textContent = words.map(quoted).join(" ");
}
showPins();

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
