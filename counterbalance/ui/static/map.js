// The map: images at their places; what is drawn around becomes SQL, so that its address brings it back.
import { draw } from "/static/points.js";
import { api, told } from "/static/ui.js";

const place = document.getElementById("map");
const counted = document.getElementById("counted");
const { view, colour } = place.dataset;
const lake = encodeURIComponent(document.body.dataset.lake);
const CORNERS = 40; // of what is drawn around: an address is short
const KINDS = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [148, 103, 189], [188, 189, 34]];
const STEPS = [[68, 1, 84], [70, 50, 126], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 193, 109], [160, 218, 57], [253, 231, 37]];
const REST = [140, 140, 140];

async function read() {
  const answer = await fetch(api(`/map?${new URLSearchParams({ view, colour })}`));
  if (!answer.ok) throw Object.assign(new Error(), (await answer.json()).error);
  const bytes = await answer.arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const at = 4 + length;
  const n = head.count;
  return {
    ...head,
    ids: new BigInt64Array(bytes, at, n),
    places: new Float32Array(bytes, at + 8 * n, 2 * n),
    kinds: new Uint8Array(bytes, at + 16 * n, n),
  };
}

const colourOf = ({ classes, ordered }, n) => (classes[n]?.rest ? (classes.length > 1 ? REST : KINDS[0]) : (ordered ? STEPS : KINDS)[n]);

function isInside(corners, x, y) {
  let inside = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i, i += 1) {
    const [ax, ay] = corners[i];
    const [bx, by] = corners[j];
    if ((ay > y) !== (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

// Places as they are drawn, to the last bit.
const PLACED = `(SELECT image_id, CAST(TRY_CAST(x AS FLOAT) AS DOUBLE) AS x, CAST(TRY_CAST(y AS FLOAT) AS DOUBLE) AS y FROM "${view.replaceAll('"', '""')}") AS m`;
const exact = (n) => (/e/.test(String(n)) ? String(n) : `${n}e0`); // a double, whatever its digits

// The same as isInside, as SQL says it.
function sqlOf(corners) {
  const crossed = corners.map(([ax, ay], i) => {
    const [bx, by] = corners.at(i - 1);
    return `CASE WHEN (${exact(ay)} > y) <> (${exact(by)} > y) AND x < ${exact(bx - ax)} * (y - ${exact(ay)}) / ${exact(by === ay ? 1 : by - ay)} + ${exact(ax)} THEN 1 ELSE 0 END`;
  });
  return `SELECT image_id FROM ${PLACED} WHERE (${crossed.join(" + ")}) % 2 = 1`;
}

function thinned(path) {
  const step = Math.max(1, path.length / CORNERS);
  const found = [];
  for (let i = 0; i < path.length; i += step) found.push(path[Math.floor(i)]);
  return found.map(([x, y]) => [Number(x.toPrecision(7)), Number(y.toPrecision(7))]);
}

function show(points) {
  const { classes, count, places, kinds, ids } = points;
  const colours = Int32Array.from(kinds, (kind) => colourOf(points, kind).reduceRight((sum, part) => 256 * sum + part, 0));
  const map = draw(place, places, colours);
  const seen = document.createElement("img");
  seen.className = "seen";
  seen.alt = "";
  seen.hidden = true;
  const drawn = document.createElement("canvas");
  drawn.className = "drawn";
  drawn.hidden = true;
  map.canvas.addEventListener("pointermove", ({ offsetX: x, offsetY: y, buttons }) => {
    const index = buttons ? -1 : map.nearest(x, y);
    map.canvas.classList.toggle("near", index >= 0);
    seen.hidden = index < 0;
    if (index < 0) return;
    seen.src = `/api/lakes/${lake}/images/${ids[index]}/picture?side=160`;
    seen.style.translate = `${Math.min(x + 12, place.clientWidth - 170)}px ${Math.min(y + 12, place.clientHeight - 170)}px`;
  });
  map.canvas.addEventListener("pointerleave", () => { seen.hidden = true; });
  map.canvas.addEventListener("click", ({ offsetX, offsetY }) => {
    const index = map.nearest(offsetX, offsetY);
    if (index >= 0) location.assign(`/lakes/${lake}/images/${ids[index]}`);
  });
  place.append(drawn, seen);

  const link = document.getElementById("selected");
  function select(isIn, sql, asked) {
    let found = 0;
    for (let i = 0; i < count; i += 1) if (isIn(places[2 * i], places[2 * i + 1])) found += 1;
    counted.textContent = `${found.toLocaleString("en")} of ${count.toLocaleString("en")} images selected`;
    link.hidden = !found;
    link.href = `/lakes/${lake}/browse?${new URLSearchParams({ sql })}`;
    keep(asked);
  }

  // What is selected stands in the address, and goes with another colour.
  const form = document.getElementById("map-form");
  function keep(asked) {
    const address = new URLSearchParams(location.search);
    for (const name of ["around", "within"]) {
      address.delete(name);
      form.elements[name]?.remove();
    }
    for (const [name, value] of Object.entries(asked)) {
      address.set(name, value);
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value });
      form.append(field);
    }
    history.replaceState(null, "", `?${address}`);
  }
  form.addEventListener("submit", () => { if (form.elements.view.value !== view) keep({}); });

  function around(corners) {
    select((x, y) => isInside(corners, x, y), sqlOf(corners), { around: corners.map((c) => c.join(",")).join(" ") });
  }

  function within(w, e, s, n) {
    select((x, y) => w <= x && x <= e && s <= y && y <= n,
      `SELECT image_id FROM ${PLACED} WHERE x BETWEEN ${exact(w)} AND ${exact(e)} AND y BETWEEN ${exact(s)} AND ${exact(n)}`,
      { within: [w, e, s, n].join(",") });
  }

  const button = document.getElementById("lasso");
  let path = [];
  function lasso(on) {
    button.setAttribute("aria-pressed", String(on));
    drawn.hidden = !on;
    drawn.width = place.clientWidth;
    drawn.height = place.clientHeight;
  }
  button.addEventListener("click", () => lasso(drawn.hidden));
  drawn.addEventListener("pointerdown", (event) => { path = [[event.offsetX, event.offsetY]]; drawn.setPointerCapture(event.pointerId); });
  drawn.addEventListener("pointermove", (event) => {
    if (!path.length) return;
    path.push([event.offsetX, event.offsetY]);
    const pen = drawn.getContext("2d");
    pen.clearRect(0, 0, drawn.width, drawn.height);
    pen.strokeStyle = getComputedStyle(place).color;
    pen.lineWidth = 2;
    pen.beginPath();
    for (const [x, y] of path) pen.lineTo(x, y);
    pen.closePath();
    pen.stroke();
  });
  drawn.addEventListener("pointerup", () => {
    if (path.length > 2) around(thinned(path).map((corner) => map.placeOf(corner).map((n) => Number(n.toPrecision(7)))));
    path = [];
  });
  document.getElementById("whole").addEventListener("click", () => { lasso(false); map.whole(); });
  document.getElementById("bounds").addEventListener("submit", (event) => {
    event.preventDefault();
    const [left, right, low, high] = ["left", "right", "low", "high"].map((n) => event.target.elements[n].value);
    const [w, s, e, n] = [left, low, right, high].map((given, i) => Number(given || map.extent[i]));
    within(w, e, s, n);
  });

  const list = classes.map((c, n) => ({ ...c, n })).filter((c) => c.count).map((c) => {
    const item = document.createElement("li");
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.style.background = `rgb(${colourOf(points, c.n).join(" ")})`;
    const text = document.createElement("bdi");
    text.textContent = c.text;
    item.append(mark, text, ` ${c.count.toLocaleString("en")}`);
    return item;
  });
  document.getElementById("legend").replaceChildren(...list);
  counted.textContent = [`${count.toLocaleString("en")} images`, ...points.notes].join("; ");
  const given = new URLSearchParams(location.search);
  const corners = (given.get("around") ?? "").split(" ").map((corner) => corner.split(",").map(Number)).slice(0, 2 * CORNERS);
  const sides = (given.get("within") ?? "").split(",").map(Number);
  if (corners.length > 2 && corners.every((c) => c.length === 2 && c.every(Number.isFinite))) around(corners);
  else if (sides.length === 4 && sides.every(Number.isFinite)) within(...sides);
  place.dataset.ready = "true";
}

for (const field of document.querySelectorAll("#map-form select")) field.addEventListener("change", () => field.form.requestSubmit());
try {
  show(await read());
} catch (error) {
  counted.textContent = told(error);
}
