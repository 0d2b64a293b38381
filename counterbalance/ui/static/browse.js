// The grid: further pages come as they are scrolled to, and tiles far away leave the page until one comes back to them.
import { api, ask, element, told } from "/static/ui.js";

const grid = document.getElementById("grid");
const { address, seen } = grid.dataset;
const limit = Number(grid.dataset.limit);
const total = Number(grid.dataset.total);
const lake = encodeURIComponent(document.body.dataset.lake);
const counted = document.getElementById("counted");
const after = document.getElementById("after");
const pages = new Map(); // what is known of each page, by its element

const query = (more) => [address, more].filter(Boolean).join("&");

function missing(event) {
  const picture = event.target;
  if (picture.tagName === "IMG") picture.replaceWith(element("span", { className: "missing" }, "no picture"));
}
grid.addEventListener("error", missing, true);
for (const picture of grid.querySelectorAll("img")) {
  if (picture.complete && !picture.naturalWidth && picture.loading !== "lazy") missing({ target: picture });
}

const SVG = "http://www.w3.org/2000/svg";
function frames(image) {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", `0 0 ${image.width} ${image.height}`);
  drawn.setAttribute("aria-hidden", "true");
  for (const box of image.boxes) {
    const frame = document.createElementNS(SVG, "rect");
    frame.setAttribute("class", "box c0");
    for (const name of ["x", "y", "width", "height"]) frame.setAttribute(name, box[name]);
    drawn.append(frame);
  }
  return drawn;
}

function tile(image) {
  const picture = element("img", {
    alt: "", loading: "lazy", decoding: "async",
    src: `/api/lakes/${lake}/images/${image.image_id}/picture?side=320${seen}`,
  });
  const parts = image.parts.map((part) => (part.marked ? element("mark", {}, part.text) : part.text));
  const caption = element("bdi", {}, ...(parts.length ? parts : [`image ${image.image_id}`]));
  const link = element("a", { href: `/lakes/${lake}/images/${image.image_id}${address ? `?${address}` : ""}` },
    picture, ...(image.boxes.length ? [frames(image)] : []), element("span", { className: "caption" }, caption));
  return element("li", { id: `i${image.image_id}` }, link);
}

async function fetched(offset) {
  return (await ask(api(`/images?${query(`offset=${offset}&limit=${limit}`)}`))).images;
}

function fill(list, images) {
  list.replaceChildren(...images.map(tile));
  list.style.height = "";
}

// A page is near while it is within two screens of what is seen; one that is not keeps its height and nothing else.
const near = new IntersectionObserver(async (entries) => {
  for (const { target, isIntersecting } of entries) {
    const page = pages.get(target);
    page.near = isIntersecting;
    if (!isIntersecting && target.children.length) {
      target.style.height = `${target.offsetHeight}px`;
      target.replaceChildren();
    } else if (isIntersecting && !target.children.length) {
      page.images ??= fetched(page.offset);
      const images = await page.images.catch(() => []);
      if (page.near && !target.children.length) fill(target, images);
    }
  }
}, { rootMargin: "200% 0px" });

function watch(list, images) {
  const offset = Number(list.dataset.offset);
  pages.set(list, { offset, images: images ? Promise.resolve(images) : undefined, near: true });
  near.observe(list);
}

let next = Number(grid.dataset.offset) + limit;
let busy = false;
async function more() {
  if (busy || next >= total) return;
  busy = true;
  try {
    const images = await fetched(next);
    const list = element("ul", { className: "grid" }, ...images.map(tile));
    list.dataset.offset = next;
    list.setAttribute("aria-label", `Images ${next + 1} to ${next + images.length}`);
    grid.append(list);
    watch(list, images);
    next += limit;
    counted.textContent = `${total.toLocaleString("en")} images, ${Math.min(next, total).toLocaleString("en")} shown`;
  } catch (error) {
    counted.textContent = told(error);
    next = total; // the link at the end still leads on
    return;
  } finally {
    busy = false;
  }
  if (next >= total) after.parentElement.remove();
  else {
    after.href = `?${query(`offset=${next}`)}`;
    end.unobserve(after);
    end.observe(after); // it may be in sight still
  }
}
const end = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && more(), { rootMargin: "150% 0px" });
for (const list of grid.querySelectorAll("ul.grid")) watch(list);
if (after) end.observe(after);

// A place far away is gone to by its number.
const jump = document.getElementById("jump");
if (jump) jump.hidden = false;
jump?.addEventListener("submit", (event) => {
  event.preventDefault();
  const first = Math.min(Math.max(1, Number(jump.elements.from.value) || 1), total);
  location.assign(`?${query(`offset=${first - 1}`)}`);
});

// The address follows the page in sight, so that going back, or a link, leads to it.
let waiting;
addEventListener("scroll", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const lists = [...pages.keys()];
    const seenNow = lists.findLast((list) => list.getBoundingClientRect().top < innerHeight / 2) ?? lists[0];
    const offset = Number(seenNow?.dataset.offset ?? 0);
    const asked = query(offset ? `offset=${offset}` : "");
    history.replaceState(null, "", asked ? `?${asked}` : location.pathname);
  }, 250);
}, { passive: true });

grid.addEventListener("keydown", (event) => {
  const link = event.target.closest("a");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const rows = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!link || !(step || rows) || event.altKey || event.ctrlKey || event.metaKey) return;
  const links = [...grid.querySelectorAll("li > a")];
  const top = link.getBoundingClientRect().top;
  const wide = links.filter((l) => Math.abs(l.getBoundingClientRect().top - top) < 2).length;
  const to = links[links.indexOf(link) + (step ?? rows * wide)];
  if (!to) return;
  event.preventDefault();
  to.focus();
});

const form = document.getElementById("filters");
form.addEventListener("submit", () => {
  for (const field of form.elements) if (field.name && !field.value) field.disabled = true; // short addresses
  if (form.elements.sort.value === "image_id") form.elements.sort.disabled = true;
});
addEventListener("pageshow", () => { for (const field of form.elements) field.disabled = false; });
form.addEventListener("change", (event) => { if (event.target.type === "checkbox" || event.target.tagName === "SELECT") form.requestSubmit(); });
if (matchMedia("(max-width: 700px)").matches) document.getElementById("filters-fold").open = false;

const copy = document.getElementById("copy");
copy.hidden = !navigator.clipboard;
copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(document.getElementById("view").textContent);
  document.getElementById("copied").textContent = "copied";
});

document.getElementById("tag")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = document.getElementById("tagged");
  try {
    const done = await ask(api(`/tags?${address}`), { tag: event.target.elements.tag.value.trim() });
    const link = element("a", { href: `/lakes/${lake}/browse?${new URLSearchParams({ label: `tag/${done.tag}:yes` })}` }, "show them");
    said.replaceChildren(`${done.images.toLocaleString("en")} ${done.images === 1 ? "image is" : "images are"} tagged: `, link);
  } catch (error) {
    said.textContent = told(error);
  }
});
