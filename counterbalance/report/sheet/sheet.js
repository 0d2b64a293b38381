
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const SKIP = "s";
  const options = [...data.options, { value: null, shown: "cannot tell / skip", key: SKIP }];
  const known = new Set(options.map((o) => o.value));
  let who = "", order = [], place = 0, saved = true; // saved: in this browser or in a file
  let answers = new Map(); // id to value, or to null where it was skipped

  const kept = {
    read(name) {
      try { return JSON.parse(localStorage.getItem(name)) || []; } catch { return []; }
    },
    write(name, value) {
      try { localStorage.setItem(name, JSON.stringify(value)); return true; } catch { return false; }
    },
  };
  const drawer = () => `counterbalance:${who}`;

  function hash(text) {
    let h = 2166136261;
    for (const c of text) h = Math.imul(h ^ c.codePointAt(0), 16777619);
    return h >>> 0;
  }

  // an order of its own for every annotator, the same each time
  function shuffled(count, seed) {
    const found = [...Array(count).keys()];
    let state = seed;
    const random = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    for (let i = count - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [found[i], found[j]] = [found[j], found[i]];
    }
    return found;
  }

  const item = () => data.items[order[place]];
  const firstOpen = () => order.findIndex((i) => !answers.has(data.items[i].id));

  function say(text) {
    at("message").textContent = text;
    at("message").hidden = !text;
  }

  function show(section) {
    for (const id of ["intro", "work", "done"]) at(id).hidden = id !== section;
  }

  // the answers of an item; those in words of its own take turns, for what stands first is chosen more often
  function offered() {
    const { id, shown = {} } = item();
    const own = options.flatMap((o, i) => (o.value in shown ? [i] : []));
    const turned = shuffled(own.length, hash(`${who}:${id}`)).map((i) => options[own[i]]);
    return options.map((option, i) => {
      const said = own.includes(i) ? turned[own.indexOf(i)] : option;
      return { value: said.value, shown: shown[said.value] ?? said.shown, key: option.key };
    });
  }

  function buttons() {
    at("options").replaceChildren(...options.map((option, i) => {
      const button = document.createElement("button");
      const key = document.createElement("kbd");
      const text = document.createElement("span");
      const color = data.colors?.[option.value];
      button.type = "button";
      key.textContent = option.key;
      button.append(key, text);
      if (color) {
        const patch = document.createElement("i");
        patch.style.background = color;
        button.append(patch);
      }
      button.addEventListener("click", () => answer(offered()[i].value));
      return button;
    }));
  }

  // of edits: their source, what they are called, and what is known of them
  function beside(edit) {
    at("source").src = data.sources[edit.source];
    at("caption").textContent = edit.caption;
    at("facts").replaceChildren(...edit.facts.flat().map((text, i) => {
      const part = document.createElement(i % 2 ? "dd" : "dt");
      part.textContent = text;
      return part;
    }));
  }

  function draw() {
    const total = data.items.length;
    at("bar").value = answers.size;
    if (place >= total) { finish(); return; }
    show("work");
    const current = item();
    at("picture").src = current.picture;
    at("picture").alt = `Picture ${place + 1} of ${total}`;
    if (current.source !== undefined) beside(current);
    at("count").textContent = `${place + 1} of ${total}, ${answers.size} answered`;
    if (current.ask) at("question").textContent = current.ask;
    const said = offered();
    [...at("options").children].forEach((button, i) => {
      button.querySelector("span").textContent = said[i].shown;
      button.setAttribute("aria-pressed", String(answers.has(current.id) && answers.get(current.id) === said[i].value));
    });
    at("back").disabled = place === 0;
    at("open").disabled = firstOpen() < 0;
  }

  function finish() {
    const skipped = [...answers.values()].filter((v) => v === null).length;
    const open = data.items.length - answers.size;
    at("sum").textContent = `${answers.size - skipped} answers, ${skipped} skipped, ${open} still open.`;
    show("done");
    at("thanks").focus();
  }

  function answer(value) {
    answers.set(item().id, value);
    saved = kept.write(drawer(), [...answers]);
    if (!saved) {
      say("This browser does not keep answers: save them before you close the page.");
    }
    place += 1;
    draw();
  }

  function move(step) {
    place = Math.min(data.items.length, Math.max(0, place + step));
    draw();
  }

  function begin() {
    show("work");
    place = firstOpen() < 0 ? data.items.length : firstOpen();
    buttons();
    draw();
  }

  function choose() {
    who = at("annotator").value;
    const seed = hash(who);
    order = shuffled(data.items.length, seed);
    order.sort((a, b) => (data.items[a].part ?? 0) - (data.items[b].part ?? 0)); // sources after their edits
    const ids = new Set(data.items.map((i) => i.id));
    const rows = who ? kept.read(drawer()) : [];
    answers = new Map((Array.isArray(rows) ? rows : []).filter((r) => Array.isArray(r) && ids.has(r[0]) && known.has(r[1])));
    saved = true;
    at("start").disabled = at("save").disabled = !who;
    at("start").textContent = answers.size ? "Go on" : "Start";
    at("need").hidden = Boolean(who);
    say("");
    show("intro");
  }

  const cell = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function csv() {
    const rows = data.items.filter((i) => answers.has(i.id) && answers.get(i.id) !== null);
    const lines = rows.map((i) => [data.attribute, ...data.columns.map((c) => i[c] ?? i.id), answers.get(i.id), who, data.sheet]);
    return [["attribute", ...data.columns, "value", "annotator", "sheet"], ...lines].map((l) => l.map(cell).join(",") + "\r\n").join("");
  }

  function save() {
    const link = document.createElement("a");
    const url = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
    link.href = url;
    link.download = `answers-${who.replace("@", "-")}.csv`;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    saved = true;
    say(`Saved ${link.download}.`);
  }

  function pressed(event) {
    if (at("work").hidden || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = key === "u" ? options.find((o) => o.value === "unclear") : offered().find((o) => o.key === key);
    if (found && !event.repeat) answer(found.value);
    else if (key === "ArrowLeft" || key === "ArrowRight") move(key === "ArrowLeft" ? -1 : 1);
    else return;
    event.preventDefault();
  }

  at("annotator").addEventListener("change", choose);
  at("start").addEventListener("click", begin);
  at("save").addEventListener("click", save);
  at("save2").addEventListener("click", save);
  at("back").addEventListener("click", () => move(-1));
  at("next").addEventListener("click", () => move(1));
  at("open").addEventListener("click", () => { place = firstOpen(); draw(); });
  at("review").addEventListener("click", () => { place = 0; draw(); });
  document.addEventListener("keydown", pressed);
  addEventListener("beforeunload", (event) => { if (!saved) event.preventDefault(); });
  choose();
})();
