// The page of an audit: sliders beside their numbers, short addresses, texts to copy, and what is pinned to the report.
import { pin, pins } from "/static/ui.js";

const form = document.getElementById("parameters");
const told = document.getElementById("told");

for (const slider of form.querySelectorAll("input[type=range]")) {
  const number = document.getElementById(slider.dataset.of);
  slider.hidden = false;
  slider.addEventListener("input", () => { number.value = slider.value; });
  number.addEventListener("input", () => { slider.value = number.value || number.placeholder; });
}

const fields = [...form.querySelectorAll("input[name], select[name]")];
const count = document.getElementById("count");

form.addEventListener("submit", () => {
  for (const field of fields) field.disabled = field.value.trim() === "";
  count.disabled = true;
  told.textContent = "Counting …";
});
addEventListener("pageshow", () => { // also when one comes back to it
  for (const field of fields) field.disabled = false;
  count.disabled = false;
  told.textContent = "";
});

const copies = document.getElementById("copies");
if (copies) copies.hidden = false;
copies?.addEventListener("click", async (event) => {
  const of = event.target.dataset.copy;
  if (of === undefined) return;
  try {
    await navigator.clipboard.writeText(of ? document.getElementById(of).textContent : location.href);
    event.target.textContent = "Copied";
    told.textContent = "Copied.";
  } catch {
    told.textContent = "This browser does not let a page copy: mark the text below.";
  }
});

const button = document.getElementById("pin");
const isPinned = () => pins().some((one) => one.call === button.dataset.call);
button?.setAttribute("aria-pressed", String(isPinned()));
button?.addEventListener("click", () => {
  try {
    pin(button.dataset.call, location.pathname + location.search, !isPinned());
    told.textContent = isPinned() ? "Pinned: the overview has the command that draws the report." : "No longer pinned.";
  } catch {
    told.textContent = "This browser keeps nothing for pages.";
  }
  button.setAttribute("aria-pressed", String(isPinned()));
});
