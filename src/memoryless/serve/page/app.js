// The frame: the header that says what the model knows, the views, undo.

import { get, post } from "./api.js";
import * as camera from "./camera.js";
import { attempt, byId, counted, make, quiet } from "./dom.js";
import { setUp as setUpGood } from "./good.js";
import { setUp as setUpModel } from "./model.js";
import { setUp as setUpTeach } from "./teach.js";
import { setUp as setUpTry } from "./try.js";

const VIEWS = ["teach", "try", "model", "good"];
const LOOK = 5000;
const views = [];

// What the server says of the model, and who wants to know when it changes.
export const state = { model: null };

export const known = () => new Map((state.model?.classes ?? []).map((one) => [one.class, one.photos]));

export async function refresh() {
  const model = await get("model");
  const same = JSON.stringify(model) === JSON.stringify(state.model);
  state.model = model;
  if (same) return;
  document.body.classList.toggle("read-only", Boolean(model.read_only));
  if (model.read_only && shownView() === "teach") show();
  showHeader(model);
  for (const view of views) view.changed?.(model);
}

function showHeader(model) {
  const photos = model.classes.reduce((sum, one) => sum + one.photos, 0);
  const kinds = counted(model.classes.length, "class", "classes");
  document.title = `${model.name} · memoryless`;
  byId("name").textContent = model.name;
  byId("knows").textContent = model.classes.length
    ? `${kinds}, ${counted(photos, "photo", "photos")} seen, none kept`
    : "knows nothing yet";
  byId("undo").hidden = before(model) === undefined;
  byId("known-classes").replaceChildren(...model.classes.map((one) => make("option", { value: one.class })));
}

function before(model) {
  const at = model.kept.findIndex((one) => one.current);
  return at > 0 ? model.kept[at - 1] : undefined;
}

function show() {
  const wanted = location.hash.slice(1);
  const first = state.model?.read_only ? "try" : "teach";
  const name = VIEWS.includes(wanted) && wanted !== "teach" ? wanted : first;
  quiet();
  camera.close();
  for (const view of VIEWS) byId(view).hidden = view !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const view of views) view.left?.();
  views[VIEWS.indexOf(name)].shown?.();
}

export const shownView = () => VIEWS.find((view) => !byId(view).hidden);

async function undo() {
  await post("undo");
  await refresh();
}

async function begin() {
  views.push(setUpTeach(), setUpTry(), setUpModel(), setUpGood());
  byId("undo").addEventListener("click", attempt(undo));
  byId("notice").querySelector("button").addEventListener("click", quiet);
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
  window.addEventListener("hashchange", show);
  for (const event of ["dragover", "drop"]) window.addEventListener(event, (one) => one.preventDefault());  // beside an area
  document.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
    if (files.length) views[VIEWS.indexOf(shownView())].pasted?.(files);
  });
  window.addEventListener("pagehide", () => views.forEach((view) => view.closed?.()));
  setInterval(() => { if (!document.hidden) refresh().catch(() => {}); }, LOOK);
  show();
  await refresh();
}

attempt(begin)();
