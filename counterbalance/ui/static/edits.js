// A source beside its edits: keys lead to other sources, choose an edit, and answer it where answers are kept.

import { api, ask, told } from "/static/ui.js";

const place = document.querySelector(".contrast");
const edits = [...document.querySelectorAll(".edit")];
const counted = document.getElementById("counted");
const said = document.getElementById("told");
history.replaceState(null, "", place.dataset.here); // without a source another one would be the first next time

let kept = Promise.resolve(); // answers are written one after another
let open = 0;
let failed = 0;

const chosen = (edit) => edit.querySelector('button[aria-pressed="true"]');
const isOpen = (edit) => !chosen(edit);

function press(edit, button) {
  for (const one of edit.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one === button));
}

function count(more) {
  counted.dataset.done = Number(counted.dataset.done) + more;
  const number = (name) => Number(counted.dataset[name]).toLocaleString("en");
  counted.firstChild.data = `${number("done")} of ${number("total")} edits answered by `;
}

function answer(edit, button) {
  const before = chosen(edit);
  press(edit, button);
  if (!before) count(1);
  const name = edit.querySelector("h2 bdi").textContent;
  open += 1;
  kept = kept.then(async () => {
    try {
      await ask(api(`/edits/${place.dataset.view}/${edit.dataset.edit}/answer`), { value: button.dataset.value });
      said.className = "soft";
      said.textContent = `${name}: ${button.dataset.value}`;
    } catch (error) {
      failed += 1;
      press(edit, before);
      if (!before) count(-1);
      said.className = "error";
      said.textContent = `${name}: ${told(error)}`;
    }
    open -= 1;
  });
  if (!before) edits.find(isOpen)?.focus();
}

async function leave(link) {
  const before = failed;
  await kept;
  if (failed === before) location.assign(link.href); // else it is read first
}

for (const link of document.querySelectorAll("#before, #after")) {
  link.addEventListener("click", (event) => {
    if (open && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); leave(link); }
  });
}
addEventListener("beforeunload", (event) => { if (open) event.preventDefault(); });
place.addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-value]");
  if (button) answer(button.closest(".edit"), button);
});

addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest?.("input, textarea, select, dialog")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const way = { ArrowLeft: "before", p: "before", ArrowRight: "after", n: "after" }[key];
  const edit = edits.find((one) => one.dataset.key === key);
  const current = document.activeElement.closest(".edit");
  const button = /^[1-9]$/.test(key) && current?.querySelectorAll("button")[key - 1];
  if (!way && !edit && !button) return;
  event.preventDefault();
  if (event.repeat && button) return;
  const link = way && document.getElementById(way);
  if (link) leave(link); else if (edit) edit.focus(); else if (button) answer(current, button);
});
if (counted) edits.find(isOpen)?.focus({ preventScroll: true });

function missing(image) {
  image.nextElementSibling.hidden = false;
  image.remove();
}
for (const image of document.querySelectorAll(".contrast .picture img")) {
  if (image.complete && !image.naturalWidth) missing(image); else image.addEventListener("error", () => missing(image));
}
