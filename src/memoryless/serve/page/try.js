// Try: what a photo shows, or the camera; answers that are wrong become corrections, taught together.

import { known, refresh, state } from "./app.js";
import { request } from "./api.js";
import * as camera from "./camera.js";
import { bars } from "./charts.js";
import { attempt, byId, counted, make, named, percent } from "./dom.js";
import { Lesson, address, droppable, forget, fromDrop, fromInput, photo } from "./photos.js";
import { LEAST, showLearned, tooFew } from "./teach.js";

const TOP = 5;
const PAUSE = 120;  // milliseconds between an answer and the next picture
const MOST = 60;  // photos that are shown beside each other
const DRAWINGS = 30;
const lesson = new Lesson(() => {});
let shown = [];
let current = null;
let watching = false;

async function ask(files) {
  const body = new FormData();
  files.forEach((file, i) => body.append("images", file, String(i)));
  return (await (await request("POST", `predict?top_k=${TOP}`, body)).json()).results;
}

const likeliest = (answer) => answer.top[0];

function sentence(answer) {
  const first = likeliest(answer);
  if (answer.answer === "unknown") return `None of the known classes fits. The nearest is ${first.label}.`;
  if (answer.answer === "unsure") return `Perhaps ${first.label}, but the photo fits this class less well than most.`;
  return "";
}

function showAnswer(answer) {
  const area = byId("answer");
  area.dataset.kind = answer.answer;
  if (answer.answer === "broken") {
    area.replaceChildren(make("p", { class: "verdict" }, "Not readable"), make("p", {}, answer.error));
  } else if (answer.answer === "unknown") {
    area.replaceChildren(make("p", { class: "verdict" }, "Unknown"), make("p", {}, sentence(answer)));
  } else {
    const rows = answer.top.map((one) => ({ name: one.label, share: one.score }));
    const said = answer.answer === "unsure" ? make("p", {}, sentence(answer)) : null;
    const verdict = answer.answer === "unsure" ? "Unsure" : named(likeliest(answer).label);
    area.replaceChildren(make("p", { class: "verdict" }, verdict), ...(said ? [said] : []), bars(rows, answer.answer));
  }
}

function showPhoto(one) {
  current = one;
  byId("try-photo").src = address(one);
  byId("try-photo").alt = one.answer ? `The photo: ${brief(one.answer)}` : "The photo";
  byId("try-photo").hidden = false;
  byId("try-prompt").hidden = true;
  byId("correct").hidden = !one.answer || one.answer.answer === "broken";
  byId("correct-class").value = "";
  byId("correct-hint").textContent = one.label ? `Noted as ${one.label}.` : "";
  if (one.answer) showAnswer(one.answer);
}

function brief(answer) {
  if (answer.answer === "broken") return "not readable";
  return answer.answer === "known" ? `${likeliest(answer).label} ${percent(likeliest(answer).score)}` : answer.answer;
}

function showOthers() {
  byId("others").replaceChildren(...(shown.length > 1 ? shown.map((one) => make("button", {
    type: "button", class: "thumb", ariaPressed: String(one === current), on: { click: () => { showPhoto(one); showOthers(); } },
  }, make("img", { src: address(one), alt: "" }), make("span", { class: "caption" }, one.answer ? named(brief(one.answer)) : "…"))) : []));
}

async function classify(photos) {
  if (!photos.length) return;
  stop();
  for (const one of shown) if (!lesson.photos.has(one.id)) forget(one);
  shown = photos.slice(0, MOST);
  showPhoto(shown[0]);
  showOthers();
  for (let i = 0; i < shown.length; i += 8) {
    const part = shown.slice(i, i + 8);
    const answers = await ask(part.map((one) => one.file));
    part.forEach((one, j) => { one.answer = answers[j]; });
    if (i === 0) showPhoto(shown[0]);
    showOthers();
  }
}

// A few answers a second; one request is under way at a time.
async function watch() {
  const video = byId("try-video");
  await camera.open(video);
  watching = true;
  video.hidden = byId("try-live").hidden = false;
  byId("try-photo").hidden = byId("try-prompt").hidden = true;
  byId("others").replaceChildren();
  byId("try-camera").textContent = "Stop the camera";
  while (watching) {
    const one = photo(await camera.capture(video));
    const [answer] = await ask([one.file]);
    if (!watching) break;
    one.answer = answer;
    shown = [one];
    current = one;
    showAnswer(answer);
    byId("correct").hidden = answer.answer === "broken";
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

function stop() {
  if (!watching) return;
  watching = false;
  camera.close();
  byId("try-video").hidden = byId("try-live").hidden = true;
  byId("try-camera").textContent = "Watch the camera";
  if (current) showPhoto(current);
}

function correct(event) {
  event.preventDefault();
  const name = byId("correct-class").value.trim().normalize("NFC");
  if (!name || !current) return;
  current.label = name;
  current.place = null;
  lesson.add([current]);
  byId("correct-class").value = "";
  byId("correct-hint").textContent = `Noted as ${name}: teach it with the other corrections below.`;
  showTray();
}

function showTray() {
  const counts = lesson.counts(), there = known();
  byId("tray").hidden = !counts.size;
  byId("tray-classes").replaceChildren(...[...counts].map(([name, number]) => make("section", { class: "group" },
    make("h4", {}, named(name), make("span", { class: "muted" }, number < LEAST ? ` ${number} of ${LEAST} needed` : ` ${number}`,
      there.has(name) ? "" : ", a new class")),
    make("div", { class: "thumbs" }, ...lesson.sound.filter((one) => one.label === name).map((one) => make("figure", { class: "thumb" },
      make("img", { src: address(one), alt: "" }),
      make("button", { type: "button", class: "remove", ariaLabel: `Take back the correction to ${name}`,
        on: { click: () => { lesson.photos.delete(one.id); one.label = ""; showTray(); } } }, "×")))))));
  const few = tooFew(counts);
  byId("tray-few").hidden = !few;
  byId("tray-why").textContent = `${few} Correct more photos, or decide:`;
  byId("tray-learn").disabled = Boolean(few) && !byId("tray-allow").checked;
  byId("tray-learn").textContent = `Teach ${counted(lesson.sound.length, "correction", "corrections")}`;
}

async function teach() {
  byId("tray-learn").disabled = true;
  byId("tray-status").textContent = "Learning …";
  try {
    lesson.reset();
    await lesson.settle();
    const there = known();
    const found = await lesson.learn(byId("tray-allow").checked, [...lesson.counts().keys()].some((name) => there.has(name)));
    lesson.photos.clear();
    byId("tray-allow").checked = false;
    await refresh();
    showLearned(found);
    await askAgain();
  } finally {
    byId("tray-status").textContent = "";
    showTray();
  }
}

async function askAgain() {
  const answers = shown.length ? await ask(shown.map((one) => one.file)) : [];
  shown.forEach((one, i) => { one.answer = answers[i]; one.label = ""; });
  if (current) showPhoto(current);
  byId("correct-hint").textContent = "The corrections were learned, and their photos were not kept.";
  showOthers();
}

function offerDrawings() {
  const classes = known();
  const offered = classes.has("The Great Wall of China") && classes.has("ambulance");
  const area = byId("drawings");
  area.hidden = !offered;
  const thumbs = area.querySelector(".thumbs");
  if (!offered || thumbs.children.length) return;
  thumbs.append(...Array.from({ length: DRAWINGS / 3 }, (_, i) => make("button", {
    type: "button", class: "thumb", ariaLabel: `Drawing ${i + 1}`,
    on: { click: attempt(async () => classify([photo(await (await request("GET", `samples/${i}.png`)).blob())])) },
  }, make("img", { src: `samples/${i}.png`, alt: "", loading: "lazy" }))));
}

export function setUp() {
  droppable(byId("try-drop"), attempt(async (transfer) => classify((await fromDrop(transfer)).map(unlabelled))));
  byId("try-choose").addEventListener("click", () => byId("try-files").click());
  byId("try-files").addEventListener("change", attempt(() => classify(fromInput(byId("try-files")))));
  byId("try-camera").addEventListener("click", attempt(() => (watching ? stop() : watch())));
  byId("correct").addEventListener("submit", correct);
  byId("tray-allow").addEventListener("change", showTray);
  byId("tray-learn").addEventListener("click", attempt(teach));
  if (!camera.possible()) byId("try-camera-hint").textContent = camera.WHERE;
  return {
    changed: () => {
      const empty = !state.model.classes.length;
      byId("try-empty").hidden = !empty;
      byId("try-full").hidden = empty;
      offerDrawings();
      showTray();
    },
    left: stop,
    pasted: attempt((files) => classify(files.map((file) => photo(file)))),
    closed: () => lesson.close(),
  };
}

function unlabelled(one) {
  one.label = "";
  return one;
}
