// What all pages share: the choice of the lake, the purpose for which closed labels are read, and asking the API.

export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const isJson = (answer.headers.get("content-type") || "").startsWith("application/json");
  const found = isJson ? await answer.json() : { error: { code: String(answer.status), message: await answer.text() } };
  if (!answer.ok) throw Object.assign(new Error(found.error.message), found.error);
  return found;
}

export const advice = (text) => text?.replace('--sensitive "why"', "the button at the top");

export function told(error) {
  const hint = advice(error.hint);
  return `${error.code ? error.code + " " : ""}${error.message}${hint ? "; " + hint : ""}`;
}

export const api = (path) => `/api/lakes/${encodeURIComponent(document.body.dataset.lake)}${path}`;

// Audits that this browser has pinned for the report of the lake: what is called, and the page that shows it.
const PINS = `pins of ${document.body.dataset.lake}`;
export function pins() {
  try {
    return JSON.parse(localStorage.getItem(PINS) ?? "[]").filter((pin) => typeof pin.call === "string" && typeof pin.page === "string");
  } catch {
    return [];
  }
}
export function pin(call, page, on) {
  const others = pins().filter((one) => one.call !== call);
  localStorage.setItem(PINS, JSON.stringify(on ? [...others, { call, page }] : others));
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A value to sort by: the number that a cell begins with, else its text; what says nothing comes last.
function key(cell) {
  const text = cell.textContent.trim().replaceAll("−", "-");
  if (/^-?∞/.test(text)) return [0, text[0] === "-" ? -Infinity : Infinity];
  const number = /^[+-]?[\d,]*\.?\d+(e[+-]?\d+)?(?![\w:/-])/i.exec(text);
  if (number) return [0, Number(number[0].replaceAll(",", ""))];
  return text === "" || text === "–" || text === "—" ? [2, ""] : [1, text];
}

function compare([a, x], [b, y], sign) {
  if (a !== b || a === 2) return a === 2 || b === 2 ? a - b : sign * (a - b);
  if (a === 1) return sign * x.localeCompare(y, "en", { numeric: true });
  return x === y ? 0 : sign * (x < y ? -1 : 1);
}

// Rows of a table by a column: up, down, and as they came. The order of a table with data-order is in the address.
export function sortable(table) {
  const body = table.tBodies[0];
  if (!table.tHead || !body || body.rows.length < 2) return;
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const order = (head, sign) => {
    for (const other of heads) other.removeAttribute("aria-sort");
    if (sign) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const known = new Map(rows.map((row) => [row, key(row.cells[head.cellIndex])]));
    body.replaceChildren(...(sign ? rows.toSorted((a, b) => compare(known.get(a), known.get(b), sign)) : rows));
  };
  for (const head of heads) {
    if (!head.textContent.trim()) continue;
    const button = element("button", { type: "button", className: "sort" });
    button.append(...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const sign = { ascending: -1, descending: 0 }[head.getAttribute("aria-sort")] ?? 1;
      order(head, sign);
      if (table.dataset.order === undefined) return;
      const asked = sign ? `#${new URLSearchParams({ order: (sign > 0 ? "" : "-") + head.textContent })}` : "";
      history.replaceState(null, "", location.pathname + location.search + asked);
    });
  }
  const asked = new URLSearchParams(location.hash.slice(1)).get("order");
  const head = table.dataset.order === undefined ? undefined : heads.find((h) => h.textContent === asked?.replace(/^-/, ""));
  if (head) order(head, asked.startsWith("-") ? -1 : 1);
}
for (const table of document.querySelectorAll("main .scroll table")) sortable(table);

const choice = document.getElementById("lake-choice");
choice?.addEventListener("change", () => {
  // the same page of the other lake, with what it asks for; but images and views are of one lake
  const page = location.pathname.match(/^\/lakes\/[^/]+(\/.*)?$/)?.[1] ?? "";
  const asked = ["/map", "/edits"].includes(page) ? "" : location.search;
  location.assign(choice.value + (page.startsWith("/images/") ? "/browse" : page + asked));
});

const dialog = document.getElementById("purpose-dialog");
document.getElementById("purpose").addEventListener("click", () => dialog.showModal());
document.getElementById("purpose-form").addEventListener("submit", async (event) => {
  const what = event.submitter?.value ?? "state";
  if (what === "cancel") return;
  event.preventDefault();
  const shown = document.getElementById("purpose-error");
  try {
    await ask("/api/purpose", { purpose: what === "end" ? "" : document.getElementById("purpose-text").value });
    location.reload();
  } catch (error) {
    shown.hidden = false;
    shown.textContent = told(error);
  }
});

// Pictures that cannot be had leave no broken frame, and no link without words.
function drop(image) {
  const link = image.closest("a");
  image.remove();
  if (link && !link.textContent.trim()) link.remove();
}
const isLost = (node) => node instanceof HTMLImageElement && node.classList.contains("thumb");
document.addEventListener("error", (event) => isLost(event.target) && drop(event.target), true);
for (const image of document.querySelectorAll("img.thumb")) if (image.complete && !image.naturalWidth) drop(image);
