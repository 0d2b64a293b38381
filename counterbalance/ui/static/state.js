// Starts a refresh, and says how far it is until it has ended.

import { api, ask, told } from "/static/ui.js";

const button = document.getElementById("refresh");
const shown = document.getElementById("refresh-state");
const SAID = `refresh of ${document.body.dataset.lake}`;
if (shown) shown.textContent = sessionStorage.getItem(SAID) ?? "";
sessionStorage.removeItem(SAID);

async function watch(state) {
  while (state.runs) {
    const of = state.total ? ` of ${state.total.toLocaleString("en")}` : "";
    shown.textContent = state.stage ? `${state.stage}: ${state.done.toLocaleString("en")}${of}` : "Refreshing …";
    await new Promise((go) => setTimeout(go, 500));
    state = await ask(api("/refresh"));
  }
  if (state.error) throw state.error;
  const failed = (state.report?.stages ?? []).filter((stage) => stage.mode === "failed");
  sessionStorage.setItem(SAID, failed.map((s) => `${s.target} failed: ${told(s)}`).join("\n"));
  location.reload();
}

button?.addEventListener("click", async () => {
  button.disabled = true;
  try {
    await watch(await ask(api("/refresh"), { targets: [] }));
  } catch (error) {
    shown.textContent = told(error);
    button.disabled = false;
  }
});

const now = button ? await ask(api("/refresh")) : { runs: false };
if (now.runs) watch(now);
