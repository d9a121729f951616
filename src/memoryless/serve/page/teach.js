// Teach: gather photos of classes, look at those that may be wrong, learn them, see what came of it.

import { known, refresh, shownView, state } from "./app.js";
import { post } from "./api.js";
import * as camera from "./camera.js";
import { bars } from "./charts.js";
import { attempt, byId, counted, make, named, size } from "./dom.js";
import { Lesson, address, droppable, fromDrop, fromInput, photo, progress } from "./photos.js";

export const LEAST = 5, LEAST_IN_ALL = 20;
const SHOWN = 48;  // thumbnails of a class
const PAUSE = 150;  // milliseconds between two captures
const lesson = new Lesson(show);
let checked = null;
let version = 0;
let learning = false;
let looking = false;  // at the photos that may be wrong, one after another
let learnedState = 0;  // of the card that says what was learned

// Why so few photos would show which were used; nothing if they are enough.
export function tooFew(counts) {
  const small = [...counts].filter(([, number]) => number < LEAST);
  const all = [...counts.values()].reduce((sum, number) => sum + number, 0);
  if (small.length) {
    const named = small.slice(0, 5).map(([name, number]) => `${name} has ${number} of the ${LEAST} photos that a class needs`);
    return `${named.join("; ")}.`;
  }
  return all < LEAST_IN_ALL ? `There are ${all} of the ${LEAST_IN_ALL} photos that one lesson needs.` : "";
}

function label() {
  return byId("class").value.trim().normalize("NFC");
}

function hint() {
  const name = label(), there = known();
  byId("class-hint").textContent = !name ? "The name of a folder becomes its class."
    : there.has(name) ? `${name} is known already, from ${counted(there.get(name), "photo", "photos")}: the new ones are added.`
      : `${name} is a new class.`;
}

function add(photos) {
  if (!photos.length) return;
  hideLearned();
  const folders = new Set(photos.map((one) => one.label));
  const typed = folders.size === 1 && label();  // of photos, or of one folder; several have names
  for (const one of photos) one.label = typed || (one.label || label()).normalize("NFC");
  lesson.add(photos);
  if (photos.some((one) => !one.label)) byId("class").focus();
  changed();
}

// Photos that waited for a name get the one that was typed.
function name() {
  hint();
  const waiting = lesson.all.filter((one) => !one.label);
  if (!waiting.length || !label()) return;
  for (const one of waiting) one.label = label();
  changed();
}

async function changed() {
  version += 1;
  const mine = version;
  checked = null;
  show();
  await attempt(async () => {
    await lesson.settle();
    if (mine !== version || learning || !lesson.read.some((one) => !one.why)) return;
    const found = await lesson.check();
    if (mine === version) checked = found;
  })();
  show();
}

function show() {
  showWelcome();
  showGroups();
  showSuspects();
  showPlan();
  if (looking && checked) lookOn();
}

// By keyboard, the next of these photos follows; after the last one, what learns them.
function lookOn() {
  looking = false;
  if (document.activeElement !== document.body) return;
  const area = byId("suspects");
  (area.hidden ? byId("learn") : area.querySelector("button")).focus({ preventScroll: true });
}

function showWelcome() {
  byId("welcome").hidden = !state.model || state.model.classes.length > 0 || lesson.all.length > 0 || !byId("learned").hidden;
}

function showGroups() {
  const groups = new Map();
  for (const one of lesson.sound) {
    if (!groups.has(one.label)) groups.set(one.label, []);
    groups.get(one.label).push(one);
  }
  const area = byId("groups");
  const at = [...area.querySelectorAll("button")].indexOf(document.activeElement);
  area.replaceChildren(...[...groups].map(([name, photos]) => make("section", { class: "group" },
    make("h3", {}, name ? named(name) : "Which class is this?", make("span", { class: "muted" }, ` ${photos.length}`)),
    name ? null : make("p", { class: "doubt" }, "Type its name above, then press Enter."),
    make("div", { class: "thumbs" }, ...photos.slice(0, SHOWN).map(thumb)),
    photos.length > SHOWN ? make("p", { class: "muted" }, `and ${photos.length - SHOWN} more`) : null)));
  if (at >= 0) [...area.querySelectorAll("button")].slice(0, at + 1).at(-1)?.focus();  // the next photo
}

function thumb(one) {
  const remove = make("button", {
    type: "button", class: "remove", ariaLabel: `Remove photo ${one.file.name} of ${one.label || "no class"}`,
    on: { click: () => { lesson.drop(one); changed(); } },
  }, "×");
  return make("figure", { class: one.place === null ? "thumb waiting" : "thumb" },
    make("img", { src: address(one), alt: "", loading: "lazy", decoding: "async" }), remove);
}

function showSuspects() {
  const found = (checked?.suspects ?? []).map((one) => [one, lesson.at(one.place)]).filter(([, own]) => own && !own.kept);
  const area = byId("suspects");
  area.hidden = !found.length;
  if (!found.length) return;
  area.replaceChildren(
    make("h3", {}, `${counted(found.length, "photo", "photos")} may be in the wrong class`),
    make("p", { class: "muted" }, "Check this before you press Learn."),
    make("div", { class: "suspects" }, ...found.slice(0, SHOWN).map(([one, own]) => suspect(one, own))));
}

function suspect(one, own) {
  const act = (work, then = changed) => ({ click: () => { looking = true; work(); then(); } });
  return make("figure", { class: "suspect" },
    make("img", { src: address(own), alt: `Photo of ${one.class}, which looks like ${one.looks_like}` }),
    make("figcaption", {}, "in ", named(one.class), ", looks like ", named(one.looks_like)),
    make("div", { class: "row tight" },
      make("button", { type: "button", on: act(() => lesson.move(own, one.looks_like)) }, "Move to ", named(one.looks_like)),
      make("button", { type: "button", on: act(() => lesson.drop(own)) }, "Remove"),
      make("button", { type: "button", class: "quiet", on: act(() => { own.kept = true; }, show) }, "The class is right")));
}

function showPlan() {
  const counts = lesson.counts(), there = known(), total = [...counts.values()].reduce((sum, n) => sum + n, 0);
  byId("gather").classList.toggle("some", lesson.all.length > 0);
  byId("plan-empty").hidden = total > 0;
  byId("plan").hidden = !total;
  byId("plan").tBodies[0].replaceChildren(...[...counts].map(([name, number]) => make("tr", {},
    make("th", { scope: "row" }, named(name), make("small", {}, there.has(name) ? `${there.get(name)} learned already` : "new")),
    make("td", { class: "number" }, String(number)))));
  showBroken();
  const busy = lesson.waiting.length > 0;
  byId("progress").hidden = !busy;
  byId("progress").value = lesson.read.length / Math.max(1, lesson.read.length + lesson.waiting.length);
  byId("progress-text").textContent = busy ? progress(lesson) : total && !checked ? "Checking the photos …" : "";
  byId("plan-preview").textContent = checked?.checked > 0 && checked.classes > 1
    ? `${checked.correct} of ${checked.checked} photos are recognized, each by a model that has not learned it` : "";
  const few = total ? tooFew(counts) : "";
  byId("few").hidden = !few;
  byId("few-why").textContent = few && `${few} Add more photos, or decide:`;
  byId("learn").disabled = !total || busy || !checked || learning || (few && !byId("few-allow").checked)
    || lesson.all.some((one) => !one.label);
  byId("learn").textContent = learning ? "Learning …" : total ? `Learn ${counted(total, "photo", "photos")}` : "Learn photos";
}

function showBroken() {
  const broken = lesson.broken;
  byId("broken").replaceChildren(...(broken.length ? [
    make("p", {}, `${counted(broken.length, "file", "files")} left out; the rest is learned:`),
    make("ul", {}, ...broken.slice(0, 8).map((one) => make("li", {}, `${one.file.name}: ${one.why}`))),
  ] : []));
}

async function learn() {
  learning = true;
  show();
  try {
    const counts = lesson.counts(), there = known();
    const more = [...counts.keys()].some((name) => there.has(name));
    const found = await lesson.learn(byId("few-allow").checked, more);
    const photos = new Map(lesson.all.map((one) => [one.place, one]));
    lesson.close();
    photos.clear();
    showLearned(found);
  } finally {
    learning = false;
    checked = null;
    byId("few-allow").checked = false;
    await refresh();
    show();
  }
}

// What came of a lesson; the corrections of Try show it too.
export function showLearned(found) {
  const names = [...Object.keys(found.new), ...Object.keys(found.more)];
  const photos = [...Object.values(found.new), ...Object.values(found.more)].reduce((sum, n) => sum + n, 0);
  const [pair] = found.confused;
  const measured = found.classes > 1 && found.checked > 0;
  const card = byId("learned");
  learnedState = found.state;
  card.replaceChildren(
    make("h3", { class: "large" }, `Learned ${counted(photos, "photo", "photos")} of ${counted(names.length, "class", "classes")}, and kept none`),
    make("p", { class: "muted" }, `The photos took ${size(found.photo_bytes)}. The model keeps averages alone: ${size(found.bytes_kept)} for all classes.`),
    measured ? make("p", {}, `${found.correct} of ${found.checked} photos are recognized, each by a model that has not learned it`
      + (pair ? `; most often confused: ${pair.class} and ${pair.other} (${pair.times} of ${pair.photos}).` : "."))
      : make("p", {}, "With one class there is nothing to confuse: teach another."),
    measured ? bars(weakest(found.by_class)) : null,
    ...found.warnings.map((text) => make("p", { class: "doubt" }, `${text[0].toUpperCase()}${text.slice(1)}.`)),
    make("p", { class: "row" },
      make("a", { class: "button primary", href: "#try" }, "Try it now"),
      make("button", { type: "button", on: { click: again } }, "Teach more")));
  card.hidden = false;
  byId("gather").hidden = true;
  byId("suspects").hidden = true;
  if (shownView() === "teach") card.focus();
}

function weakest(classes) {
  return [...classes].filter((one) => one.checked).sort((a, b) => a.correct / a.checked - b.correct / b.checked).slice(0, 8)
    .map((one) => ({ name: one.class, share: one.correct / one.checked, text: `${one.correct} of ${one.checked}` }));
}

function hideLearned() {
  byId("learned").hidden = true;
  byId("gather").hidden = false;
}

function again() {
  hideLearned();
  byId("class").value = "";
  hint();
  show();
  byId("class").focus();
}

async function samples() {
  byId("samples").disabled = true;
  byId("samples-status").textContent = "Reading 300 drawings of ten things …";
  try {
    const { lesson: id } = await post("lessons");
    await post(`lessons/${id}/samples`);
    showLearned(await post(`lessons/${id}/learn`));
    await refresh();
  } finally {
    byId("samples").disabled = false;
    byId("samples-status").textContent = "";
    show();
  }
}

async function useCamera() {
  byId("camera").hidden = false;
  try {
    await camera.open(byId("camera-video"));
  } catch (error) {
    byId("camera").hidden = true;
    throw error;
  }
  byId("camera-hint").textContent = label() ? `Pictures go to ${label()}.` : "Name the class first, then hold the button.";
}

let holding = false;

async function hold() {
  if (holding) return;
  if (!label()) { byId("class").focus(); return; }
  holding = true;
  while (holding) {
    add([photo(await camera.capture(byId("camera-video")))]);
    byId("camera-hint").textContent = `${lesson.counts().get(label()) ?? 0} pictures of ${label()}.`;
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

function release() {
  holding = false;
}

export function setUp() {
  droppable(byId("drop"), attempt(async (transfer) => add(await fromDrop(transfer))));
  byId("choose").addEventListener("click", () => byId("files").click());
  byId("choose-folder").addEventListener("click", () => byId("folder").click());
  for (const id of ["files", "folder"]) byId(id).addEventListener("change", () => add(fromInput(byId(id))));
  byId("class").addEventListener("input", hint);
  byId("class").addEventListener("change", name);
  byId("class").addEventListener("keydown", (event) => { if (event.key === "Enter") name(); });
  byId("few-allow").addEventListener("change", show);
  byId("learn").addEventListener("click", attempt(learn));
  byId("sample-drawings").append(...Array.from({ length: 10 }, (_, i) => make("img", { src: `samples/${i}.png`, alt: "" })));
  byId("samples").addEventListener("click", attempt(samples));
  byId("use-camera").addEventListener("click", attempt(useCamera));
  byId("camera-stop").addEventListener("click", () => { camera.close(); byId("camera").hidden = true; });
  const button = byId("hold");
  button.addEventListener("pointerdown", attempt(hold));
  for (const event of ["pointerup", "pointerleave", "pointercancel", "keyup", "blur"]) button.addEventListener(event, release);
  button.addEventListener("keydown", (event) => {
    if ([" ", "Enter"].includes(event.key) && !event.repeat) { event.preventDefault(); attempt(hold)(); }
  });
  return {
    changed: (model) => {
      if (model.number < learnedState) hideLearned();  // it was undone
      hint();
      show();
    },
    left: () => { release(); byId("camera").hidden = true; },
    pasted: (files) => add(files.map((file) => photo(file))),
    closed: () => lesson.close(),
  };
}

