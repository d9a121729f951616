// How good: a folder of test photos, the accuracy with its interval, and where it goes wrong.

import { state } from "./app.js";
import { bars, columns, heatMap } from "./charts.js";
import { attempt, byId, counted, make, named, percent } from "./dom.js";
import { Lesson, address, droppable, fromDrop, fromInput, progress } from "./photos.js";

const WORST = 5, CELLS = 12, WRONG = 48;
const lesson = new Lesson(showProgress);

function showProgress() {
  const busy = lesson.waiting.length > 0;
  byId("good-progress").hidden = !busy;
  byId("good-progress").value = lesson.read.length / Math.max(1, lesson.photos.size);
  byId("good-text").textContent = busy ? progress(lesson) : "";
}

async function measure(photos) {
  if (!photos.length) return;
  if (photos.some((one) => !one.label)) throw new Error("Choose a folder that holds one folder of photos for each class, named after the class.");
  lesson.close();
  lesson.add(photos);
  byId("results").hidden = true;
  showProgress();
  try {
    await lesson.settle();
    show(await lesson.evaluate());
  } finally {
    showProgress();
  }
}

function show(found) {
  const area = byId("results");
  const share = found.correct / found.photos;
  const [low, high] = found.interval.map((end) => Math.round(100 * end));
  area.replaceChildren(
    make("div", { class: "card headline" },
      make("p", { class: "huge" }, `${(100 * share).toFixed(1)} %`),
      make("p", {}, `${found.correct.toLocaleString("en")} of ${counted(found.photos, "photo", "photos")} correct. `
        + `With other photos like these it would be ${low} to ${high} % (95 % interval).`),
      make("p", { class: "muted" }, aside(found))),
    make("div", { class: "columns even" },
      make("div", { class: "card" }, make("h3", {}, "Weakest classes"), bars(weakest(found))),
      make("div", { class: "card" }, make("h3", {}, "By the lesson in which the class was learned"),
        columns(found.states.map((one) => ({ name: `lesson ${one.state}`, share: one.top1 }))))),
    ...confusions(found),
    ...wrong(found));
  area.hidden = false;
  area.focus();
}

function aside(found) {
  const strange = Object.entries(found.unknown);
  const others = strange.reduce((sum, [, number]) => sum + number, 0);
  const parts = [`${percent(found.accepted - found.unsure)} were answered as known, ${percent(found.unsure)} as unsure, ${percent(1 - found.accepted)} as unknown.`];
  if (others) parts.push(`${counted(others, "photo", "photos")} of ${counted(strange.length, "class", "classes")} that it does not know: ${percent(found.rejected)} were answered as unknown.`);
  const broken = lesson.broken;
  if (broken.length) parts.push(`${counted(broken.length, "file", "files")} could not be read: ${broken.slice(0, 5).map((one) => one.file.name).join(", ")}.`);
  return parts.join(" ");
}

function weakest(found) {
  const confused = new Map();
  for (const one of found.confused) if (!confused.has(one.class)) confused.set(one.class, one);
  return found.classes.slice(0, WORST).map((one) => {
    const pair = confused.get(one.class);
    return {
      name: one.class, share: one.top1, text: `${Math.round(one.top1 * one.photos)} of ${one.photos}`,
      note: pair ? `mistaken for ${pair.answer} (${pair.times})` : "",
    };
  });
}

function confusions(found) {
  const knows = new Set(found.classes.map((one) => one.class));
  const times = new Map(), wrongs = new Map();
  for (const one of found.answers) {
    if (!knows.has(one.class)) continue;
    const key = JSON.stringify([one.class, one.answer]);
    times.set(key, (times.get(key) || 0) + 1);
    if (one.class !== one.answer) for (const name of [one.class, one.answer]) wrongs.set(name, (wrongs.get(name) || 0) + 1);
  }
  if (!wrongs.size) return [];
  const names = [...wrongs].sort((a, b) => b[1] - a[1]).slice(0, CELLS).map(([name]) => name).sort();
  return [make("div", { class: "card" }, make("h3", {}, "Which classes are confused"),
    make("p", { class: "muted" }, wrongs.size > CELLS ? `The ${CELLS} classes with the most mistakes of ${wrongs.size}. ` : "",
      "Rows are what the photos show, columns what the model answered."),
    heatMap(names, (row, column) => times.get(JSON.stringify([row, column])) || 0))];
}

function wrong(found) {
  const knows = new Set(found.classes.map((one) => one.class));
  const all = found.answers.filter((one) => knows.has(one.class) && one.answer !== one.class).sort((a, b) => b.score - a.score);
  if (!all.length) return [make("p", { class: "card" }, "No photo got a wrong answer.")];
  return [make("div", { class: "card" }, make("h3", {}, `${counted(all.length, "photo", "photos")} got a wrong answer`),
    make("p", { class: "muted" }, "The mistakes that the model was surest of come first. The photos are in this page alone."),
    make("div", { class: "thumbs mistakes" }, ...all.slice(0, WRONG).map(mistake)))];
}

function mistake(one) {
  const own = lesson.at(one.place);
  return make("figure", { class: "thumb" }, make("img", { src: own ? address(own) : "", alt: `A photo of ${one.class}`, loading: "lazy" }),
    make("figcaption", {}, "answered ", named(one.answer), ` (${percent(one.score)}), is `, named(one.class), make("small", {}, named(own?.file.name ?? ""))));
}

export function setUp() {
  droppable(byId("good-drop"), attempt(async (transfer) => measure(await fromDrop(transfer))));
  byId("good-choose").addEventListener("click", () => byId("good-folder").click());
  byId("good-folder").addEventListener("change", attempt(() => measure(fromInput(byId("good-folder")))));
  return {
    changed: () => {
      const empty = !state.model.classes.length;
      byId("good-empty").hidden = !empty;
      byId("good-full").hidden = empty;
    },
    closed: () => lesson.close(),
  };
}
