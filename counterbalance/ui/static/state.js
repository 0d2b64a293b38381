// Starts a refresh, and says how far it is until it has ended.

import { api, ask, told } from "/static/ui.js";

const button = document.getElementById("refresh");
const shown = document.getElementById("refresh-state");

async function watch(state) {
  while (state.runs) {
    const of = state.total ? ` of ${state.total.toLocaleString("en")}` : "";
    shown.textContent = state.stage ? `${state.stage}: ${state.done.toLocaleString("en")}${of}` : "Refreshing …";
    await new Promise((go) => setTimeout(go, 500));
    state = await ask(api("/refresh"));
  }
  if (state.error) throw state.error;
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
