// The editor: runs, stops and completes queries; shows rows with small pictures, and a chart of them.

import { advice, api, ask, element, sortable, told } from "/static/ui.js";

const part = (id) => document.getElementById(id);
const area = part("query");
const lake = document.body.dataset.lake;
const KEPT = `queries of ${lake}`;
const BARS = 30;
let editor = null;
let running = null;
let rows = null;
let asked = ""; // the query of these rows

const text = () => (editor ? editor.getValue() : area.value);

function place(at) {
  return text().split("\n").slice(0, at.line).reduce((sum, line) => sum + line.length + 1, 0) + at.ch;
}

async function offers(view) {
  const at = view.getCursor();
  const found = await ask(api("/complete"), { sql: text(), at: [...text().slice(0, place(at))].length });
  const before = [...text()];
  const list = found.offers.map((offer) => ({ text: offer.text, displayText: `${offer.text}  ${offer.kind}` }));
  const from = found.offers.length ? before.slice(0, found.offers[0].from).join("").length : place(at);
  return { list, from: view.posFromIndex(from), to: at };
}
offers.async = false;

function start() {
  if (!globalThis.CodeMirror) return;
  editor = CodeMirror.fromTextArea(area, {
    mode: "text/x-pgsql",
    inputStyle: "contenteditable",
    lineWrapping: true,
    matchBrackets: true,
    screenReaderLabel: "Query",
    extraKeys: {
      "Ctrl-Enter": run,
      "Cmd-Enter": run,
      "Ctrl-Space": (view) => view.showHint({ hint: offers, completeSingle: false }),
      Tab: false,
      "Shift-Tab": false,
    },
  });
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) || [];
  } catch {
    return [];
  }
}

function remember(query) {
  const all = [query, ...kept().filter((other) => other !== query)].slice(0, 50);
  try {
    localStorage.setItem(KEPT, JSON.stringify(all));
  } catch { /* it is full, or not to be had */ }
  showHistory();
}

function showHistory() {
  const options = kept().map((query) => element("option", { value: query }, query.replace(/\s+/g, " ").slice(0, 80)));
  part("history").replaceChildren(element("option", { value: "" }, "…"), ...options);
}

let wrong = null; // the word of the query that is marked

function show(error) {
  const shown = part("error");
  shown.hidden = !error;
  wrong?.clear();
  if (!error) return;
  const lines = [told(error)];
  if (error.line) {
    lines.push(`line ${error.line}:`);
    const line = text().split("\n")[error.line - 1] ?? "";
    const before = [...line].slice(0, Math.max(0, (error.column ?? 1) - 1)).join(""); // a column counts characters, an editor their halves
    lines.push(line, " ".repeat(before.length) + "^");
    const end = before.length + (/^(\w+|.)?/su.exec(line.slice(before.length))[0].length || 1);
    wrong = editor?.markText({ line: error.line - 1, ch: before.length }, { line: error.line - 1, ch: end }, { className: "wrong" });
    editor?.setCursor(error.line - 1, before.length);
    editor?.focus();
  }
  shown.textContent = lines.join("\n");
}

async function run() {
  if (running) return;
  const sql = text();
  if (!sql.trim()) return;
  running = crypto.randomUUID();
  part("run").disabled = true;
  part("stop").disabled = false;
  part("state").textContent = "Running …";
  show(null);
  history.replaceState(null, "", `?q=${encodeURIComponent(sql)}`);
  try {
    const found = await ask(api("/query"), { sql, rows: Number(area.dataset.most), id: running });
    rows = found;
    part("asked").textContent = asked = sql;
    const count = `${found.rows.length.toLocaleString("en")} ${found.rows.length === 1 ? "row" : "rows"}`;
    part("state").textContent = [`${count} in ${found.seconds.toFixed(2)} s`, ...found.notes.map(advice)].join(" · ");
    part("result").replaceChildren(table(found));
    sortable(part("result").firstChild);
    part("result").hidden = false;
    part("draw").disabled = chosen() === null;
    part("save").disabled = false;
    if (part("draw").getAttribute("aria-pressed") === "true") draw();
    remember(sql);
  } catch (error) {
    part("state").textContent = "";
    rows = null;
    part("result").hidden = part("chart").hidden = true;
    part("draw").disabled = part("save").disabled = true;
    show(error);
  } finally {
    running = null;
    part("run").disabled = false;
    part("stop").disabled = true;
  }
}

// Characters that control or reorder text, written out as the shell does.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const plain = (value) => value.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

function shown(value) {
  if (value === null || value === undefined) return "–";
  return plain(typeof value === "object" ? JSON.stringify(value) : String(value));
}

// A value as it stands in a cell: of bytes, which come in base64, how many they are.
function written(value, column) {
  if (typeof value !== "string" || !/^(large_|fixed_size_)?binary/.test(column.type)) return shown(value);
  return `${(Math.floor(value.replace(/=+$/, "").length * 3 / 4)).toLocaleString("en")} bytes`;
}

const isNumber = (column) => /^(u?int|float|double|half|decimal)/.test(column.type);

function table(found) {
  const picture = found.columns.findIndex((column) => column.name === "image_id");
  const heads = found.columns.map((c) => element("th", { scope: "col", className: isNumber(c) ? "num" : "" }, plain(c.name)));
  const body = element("tbody");
  for (const row of found.rows) {
    const cells = row.map((value, at) => element("td", { className: isNumber(found.columns[at]) ? "num" : "" }, written(value, found.columns[at])));
    if (picture >= 0) cells.unshift(element("td", {}, thumbnail(row[picture])));
    body.append(element("tr", {}, ...cells));
  }
  if (picture >= 0) heads.unshift(element("th", { scope: "col" }, "Picture"));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
}

function thumbnail(id) {
  if (id === null) return "";
  const image = element("img", { loading: "lazy", alt: `image ${id}`, className: "thumb", src: api(`/images/${id}/picture?side=160`) });
  return element("a", { href: `/lakes/${encodeURIComponent(lake)}/images/${id}` }, image);
}

function chosen() {
  if (!rows?.rows.length) return null;
  const names = rows.columns.findIndex((c) => !isNumber(c));
  const numbers = rows.columns.flatMap((c, at) => (isNumber(c) && !/_id$/.test(c.name) && rows.rows.some((r) => typeof r[at] === "number") ? [at] : []));
  if (!numbers.length) return null;
  // without names the first of several numbers is what the others are of, as in GROUP BY 1
  return names < 0 && numbers.length > 1 ? { value: numbers[1], label: numbers[0] } : { value: numbers[0], label: names };
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function draw() {
  const at = chosen();
  part("chart").hidden = at === null;
  if (at === null) return;
  const shownRows = rows.rows.filter((row) => typeof row[at.value] === "number").slice(0, BARS);
  const values = shownRows.map((row) => row[at.value]);
  const least = Math.min(...values, 0);
  const scale = 420 / (Math.max(...values, 0) - least || 1);
  const zero = 216 - least * scale;
  const name = rows.columns[at.value].name;
  const svg = drawn("svg", { viewBox: `0 0 780 ${shownRows.length * 24 + 8}`, class: "chart bars", role: "img", "aria-label": `Bars of ${name}` });
  shownRows.forEach((row, number) => {
    const y = number * 24 + 4;
    const width = Math.abs(row[at.value]) * scale;
    const left = row[at.value] < 0 ? zero - width : zero;
    const label = at.label < 0 ? String(number + 1) : shown(row[at.label]);
    svg.append(
      drawn("text", { x: 208, y: y + 14, "text-anchor": "end", class: "label" }, label.length > 26 ? `${label.slice(0, 25)}…` : label),
      drawn("rect", { x: left, y, width, height: 18, class: row[at.value] < 0 ? "bar under" : "bar" }),
      drawn("text", { x: left + width + 6, y: y + 14, class: "value" }, row[at.value].toLocaleString("en")),
    );
  });
  const cut = rows.rows.length > shownRows.length ? `, the first ${shownRows.length} rows` : "";
  part("chart").replaceChildren(element("figcaption", { className: "soft" }, `${name}${cut}`), svg);
}

async function save(format) {
  const answer = await fetch(api("/query"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ sql: asked, format }),
  });
  if (!answer.ok) {
    show((await answer.json()).error);
    return;
  }
  const address = URL.createObjectURL(await answer.blob());
  element("a", { href: address, download: `rows.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

part("query-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
part("stop").addEventListener("click", async () => {
  const id = running;
  while (id && running === id) { // one that has not begun yet cannot be stopped yet
    await ask("/api/stop", { id });
    await new Promise((go) => setTimeout(go, 300));
  }
});
part("draw").addEventListener("click", () => {
  const on = part("draw").getAttribute("aria-pressed") !== "true";
  part("draw").setAttribute("aria-pressed", String(on));
  if (on) draw(); else part("chart").hidden = true;
});
part("save").addEventListener("change", async () => {
  const format = part("save").value;
  part("save").value = "";
  if (format) await save(format);
});
part("history").addEventListener("change", () => {
  const query = part("history").value;
  if (query) editor ? editor.setValue(query) : (area.value = query);
});

start();
showHistory();
if (area.value.trim() && "runs" in area.dataset) run();
