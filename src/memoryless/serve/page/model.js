// Model: classes, history, downloads, merging, and what is honest to say about privacy.

import { refresh, state } from "./app.js";
import { download, post, request } from "./api.js";
import { ask, attempt, byId, counted, make, named, size, when } from "./dom.js";
import { droppable } from "./photos.js";

let order = { key: "class", down: false };

const DONE = {
  learn: "Learned photos", rename: "Renamed a class", forget: "Forgot classes", merge: "Merged a model", calibrate: "Calibrated", save: "Created without classes",
};

function rows() {
  const dates = new Map(state.model.states.map((one) => [one.state, one.date]));
  const wanted = byId("search").value.trim().toLowerCase();
  const found = state.model.classes.map((one) => ({ ...one, date: dates.get(one.state) ?? "" }))
    .filter((one) => one.class.toLowerCase().includes(wanted));
  const { key, down } = order;
  const compare = (a, b) => (key === "photos" ? a.photos - b.photos : a[key].localeCompare(b[key], "en", { numeric: true }));
  return found.sort((a, b) => (down ? -1 : 1) * compare(a, b));
}

function showClasses() {
  const found = rows(), all = state.model.classes.length;
  byId("class-count").textContent = found.length === all ? counted(all, "class", "classes") : `${found.length} of ${all} classes`;
  byId("classes").tBodies[0].replaceChildren(...found.map(row));
  for (const head of byId("classes").querySelectorAll("th[data-key]")) {
    if (head.dataset.key === order.key) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function row(one) {
  const name = make("th", { scope: "row" }, named(one.class));
  const line = make("tr", {}, name, make("td", { class: "number" }, one.photos.toLocaleString("en")),
    make("td", { class: "muted" }, one.date && when(one.date)));
  line.append(make("td", { class: "actions" },
    make("button", { type: "button", class: "quiet", ariaLabel: `Rename ${one.class}`, on: { click: () => edit(one, name) } }, "Rename"),
    make("button", { type: "button", class: "quiet", ariaLabel: `Forget ${one.class}`, on: { click: attempt(() => forget(one)) } }, "Forget")));
  return line;
}

// The name becomes a field: Enter keeps it, Escape leaves it.
function edit(one, place) {
  const field = make("input", { value: one.class, maxLength: 255, ariaLabel: `New name of ${one.class}` });
  const form = make("form", { class: "row tight", on: {
    submit: attempt(async (event) => {
      event.preventDefault();
      const name = field.value.trim();
      if (name && name !== one.class) await post("rename", { class: one.class, name });
      place.replaceChildren(named(name || one.class));
      await refresh();
      showClasses();
      button(name || one.class, "Rename")?.focus();
    }),
    keydown: (event) => {
      if (event.key !== "Escape") return;
      showClasses();
      button(one.class, "Rename")?.focus();
    },
  } }, field, make("button", { type: "submit" }, "Save"));
  place.replaceChildren(form);
  field.select();
  field.focus();
}

function button(name, act) {
  return [...byId("classes").querySelectorAll("button")].find((one) => one.ariaLabel === `${act} ${name}`);
}

async function forget(one) {
  const would = await post("forget", { classes: [one.class], dry_run: true });
  const sure = await ask(`Forget ${one.class}?`, [
    `This deletes its name, its count and the average of ${counted(one.photos, "photo", "photos")}, and ${counted(would.states, "saved state", "saved states")}. It cannot be undone.`,
    `The model then knows ${counted(would.left, "class", "classes")}.`,
    would.remains[0].toUpperCase() + would.remains.slice(1),
  ], `Forget ${one.class}`);
  if (!sure) return;
  await post("forget", { classes: [one.class] });
  await refresh();
}

function showHistory() {
  byId("history").replaceChildren(...[...state.model.kept].reverse().map((one) => make("li", { class: one.current ? "now" : "" },
    make("div", {}, make("b", {}, `${one.done.split(", ").map((done) => DONE[done] ?? done).join(", ")}`),
      make("span", { class: "muted" }, ` ${counted(one.classes, "class", "classes")}, ${when(one.date)}`)),
    one.current ? make("span", { class: "mark" }, "now")
      : make("button", { type: "button", class: "quiet", ariaLabel: `Go back to state ${one.number}`, on: { click: attempt(() => goTo(one.number)) } }, "Go back to here"))));
}

async function goTo(number) {
  await post("undo", { to: number });
  await refresh();
}

function showKept() {
  const model = state.model;
  const kept = `The averages take ${size(model.bytes_kept)}, the whole file with its network and history ${size(model.bytes)}.`;
  byId("kept").textContent = model.photo_bytes ? `${kept} The photos learned since the server started took ${size(model.photo_bytes)}.` : kept;
  byId("privacy").replaceChildren(...model.privacy.map((text) => make("p", {}, text.replaceAll("`", ""))));
  for (const id of ["get-onnx"]) byId(id).disabled = !model.classes.length;
}

async function merge(file) {
  if (!file) return;
  byId("merge-status").textContent = `Merging ${file.name} …`;
  try {
    const body = new FormData();
    body.append("model", file, file.name);
    body.append("same_class", byId("merge-join").checked ? "join" : "refuse");
    const found = await (await request("POST", "merge", body)).json();
    byId("merge-status").textContent = `Merged: ${counted(found.new.length, "new class", "new classes")}, ${found.classes} in all. Undo takes it back.`;
    await refresh();
  } catch (error) {
    byId("merge-status").textContent = "";
    throw error;
  }
}

function wait(id, work) {
  return attempt(async () => {
    byId(id).disabled = true;
    try {
      await work();
    } finally {
      byId(id).disabled = false;
    }
  });
}

export function setUp() {
  byId("search").addEventListener("input", showClasses);
  for (const head of byId("classes").querySelectorAll("th[data-key]")) {
    head.querySelector("button").addEventListener("click", () => {
      order = { key: head.dataset.key, down: order.key === head.dataset.key && !order.down };
      showClasses();
    });
  }
  byId("get-onnx").addEventListener("click", wait("get-onnx", () => download("model.onnx", `${state.model.name}.onnx`)));
  byId("get-model").addEventListener("click", wait("get-model", () => download("model.memoryless", `${state.model.name}.memoryless`)));
  droppable(byId("merge-drop"), attempt((transfer) => merge(transfer.files[0])));
  byId("merge-choose").addEventListener("click", () => byId("merge-file").click());
  byId("merge-file").addEventListener("change", attempt(async () => {
    const [file] = byId("merge-file").files;
    await merge(file);
    byId("merge-file").value = "";
  }));
  return { changed: () => { showClasses(); showHistory(); showKept(); } };
}
