// Photos in the page: from drops, folders, the clipboard; sent to a lesson, in which only numbers stay.

import { Refused, post, remove, request } from "./api.js";

const BATCH = 16;
const BATCH_BYTES = 16e6;
const ODD = /^(\.|thumbs\.db$|desktop\.ini$)/i;
let made = 0;

export function photo(file, label = "") {
  made += 1;
  return { id: made, file, label, place: null, why: "", address: "" };
}

// The address of a thumbnail, made when it is shown first.
export function address(one) {
  one.address ||= URL.createObjectURL(one.file);
  return one.address;
}

export function forget(one) {
  if (one.address) URL.revokeObjectURL(one.address);
  one.address = "";
}

function parent(path) {
  const parts = path.split("/");
  return parts.length > 1 ? parts[parts.length - 2] : "";
}

// Files of an input; those of a folder have the folder that they lie in as their class.
export function fromInput(input) {
  const found = [...input.files].filter((file) => !ODD.test(file.name))
    .map((file) => photo(file, parent(file.webkitRelativePath || "")));
  input.value = "";
  return found;
}

function entries(folder) {
  const reader = folder.createReader();
  const all = [];
  return new Promise((done, fail) => {
    const next = () => reader.readEntries((some) => {
      if (!some.length) return done(all);
      all.push(...some);
      return next();
    }, fail);
    next();
  });
}

async function walk(entry, found) {
  if (ODD.test(entry.name)) return;
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    found.push(photo(file, parent(entry.fullPath)));
  } else {
    for (const inner of await entries(entry)) await walk(inner, found);
  }
}

export async function fromDrop(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const dropped = items.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());  // before the event ends
  const found = [];
  for (const one of dropped) {
    if (one instanceof File) found.push(photo(one));
    else if (one) await walk(one, found);
  }
  return found;
}

// Let an area take what is dropped on it.
export function droppable(area, act) {
  let inside = 0;
  const mark = (step) => {
    inside = Math.max(0, inside + step);
    area.classList.toggle("over", inside > 0);
  };
  area.addEventListener("dragenter", (event) => { event.preventDefault(); mark(1); });
  area.addEventListener("dragleave", () => mark(-1));
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(-inside);
    act(event.dataTransfer);
  });
}

// A lesson on the server, kept in step with photos of the page.
export class Lesson {
  constructor(changed) {
    this.photos = new Map();
    this.changed = changed;
    this.id = null;
    this.gone = [];
    this.running = null;
    this.started = 0;
    this.before = 0;
  }

  get all() { return [...this.photos.values()]; }
  get sound() { return this.all.filter((one) => !one.why); }
  get broken() { return this.all.filter((one) => one.why); }
  get read() { return this.all.filter((one) => one.place !== null); }
  get waiting() { return this.all.filter((one) => one.label && one.place === null); }

  counts() {
    const counts = new Map();
    for (const one of this.sound) if (one.label) counts.set(one.label, (counts.get(one.label) || 0) + 1);
    return new Map([...counts].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true })));
  }

  at(place) { return this.all.find((one) => one.place === place); }

  add(photos) {
    for (const one of photos) this.photos.set(one.id, one);
  }

  drop(one) {
    if (one.place !== null && !one.why) this.gone.push(one.place);
    this.photos.delete(one.id);
    forget(one);
  }

  move(one, label) {
    if (one.place !== null) this.gone.push(one.place);
    one.place = null;
    one.label = label;
  }

  // Send what is not there yet, batch by batch, until nothing waits.
  settle() {
    this.running ??= this.#send().finally(() => { this.running = null; });
    return this.running;
  }

  async #send() {
    this.started = performance.now();
    this.before = this.read.length;
    for (;;) {
      if (!this.id) await this.#open();
      try {
        if (this.gone.length) await remove(`lessons/${this.id}/photos`, { places: this.gone.splice(0) });
        const batch = this.#batch();
        if (!batch.length) return;
        await this.#sendBatch(batch);
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 404) throw error;
        this.id = null;  // it expired, and the photos are still here
        this.reset();
      }
      this.changed();
    }
  }

  async #open() {
    this.id = (await post("lessons")).lesson;
  }

  #batch() {
    const batch = [];
    let bytes = 0;
    for (const one of this.waiting) {
      bytes += one.file.size;
      if (batch.length && (batch.length === BATCH || bytes > BATCH_BYTES)) break;
      batch.push(one);
    }
    return batch;
  }

  async #sendBatch(batch) {
    const labels = batch.map((one) => one.label);
    const body = new FormData();
    for (const one of batch) body.append("images", one.file, String(one.id));
    for (const label of labels) body.append("class", label);
    const added = await (await request("POST", `lessons/${this.id}/photos`, body)).json();
    const why = new Map(added.broken.map((one) => [one.place, one.why]));
    batch.forEach((one, i) => {
      const place = added.places[i];
      if (!this.photos.has(one.id) || one.label !== labels[i]) this.gone.push(place);
      else Object.assign(one, { place, why: why.get(place) || "" });
    });
  }

  secondsLeft() {
    const done = this.read.length - this.before;
    return done > 0 ? (performance.now() - this.started) / 1000 / done * this.waiting.length : null;
  }

  check() { return post(`lessons/${this.id}/check`); }

  async learn(few, more) {
    const found = await post(`lessons/${this.id}/learn`, { few, more });
    this.id = null;
    return found;
  }

  // Nothing stays on the server; the photos keep their places, to be found by.
  async evaluate() {
    try {
      return await post("evaluate", { lesson: this.id });
    } finally {
      this.#leave();
    }
  }

  reset() {
    this.#leave();
    for (const one of this.all) one.place = null;
  }

  #leave() {
    const id = this.id;
    this.id = null;
    this.gone = [];
    if (id) remove(`lessons/${id}`, undefined, { keepalive: true }).catch(() => {});
  }

  // Drop all of it, here and there.
  close() {
    this.all.forEach(forget);
    this.photos.clear();
    this.#leave();
  }
}

// How far a lesson is, as a text.
export function progress(lesson) {
  const left = lesson.secondsLeft();
  const time = left === null || left < 2 ? "" : `, about ${Math.round(left)} s left`;
  return `Reading photos: ${lesson.read.length} of ${lesson.read.length + lesson.waiting.length}${time}`;
}
