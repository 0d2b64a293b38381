// One image: keys lead to its neighbours and back to the grid; boxes are shown and hidden by what they are about.
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest?.("input, textarea, select, dialog")) return;
  const name = { ArrowLeft: "before", ArrowRight: "after", Escape: "back" }[event.key];
  const link = name && document.getElementById(name);
  if (link) { event.preventDefault(); location.assign(link.href); }
});

const figure = document.getElementById("picture");
const picture = figure.querySelector("img");
function missing() {
  picture.remove();
  figure.querySelector("svg")?.remove();
  figure.querySelector(".missing").hidden = false;
}
if (picture?.complete && !picture.naturalWidth) missing();
picture?.addEventListener("error", missing);

const legend = document.getElementById("legend");
const boxes = (field) => figure.querySelectorAll(`svg [data-category="${field.dataset.category}"]`);
legend?.addEventListener("change", ({ target }) => boxes(target).forEach((box) => box.classList.toggle("off", !target.checked)));
for (const kind of ["mouseover", "focusin", "mouseout", "focusout"]) {
  legend?.addEventListener(kind, ({ target }) => {
    const field = target.closest("label")?.querySelector("input");
    if (field) boxes(field).forEach((box) => box.classList.toggle("strong", kind.endsWith("over") || kind.endsWith("in")));
  });
}
