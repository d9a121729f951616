// Elements. Names of classes and files enter the page as text alone.

export const byId = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "class") element.className = value;
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A name that may break into lines after a sign between words.
export function named(name) {
  const parts = name.split(/(?<=[_+.-])/);
  const whole = document.createDocumentFragment();
  parts.forEach((part, i) => whole.append(...(i ? [document.createElement("wbr")] : []), part));
  return whole;
}

export const counted = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function size(bytes) {
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (bytes >= one) return `${(bytes / one).toFixed(1)} ${unit}`;
  }
  return `${bytes} bytes`;
}

export const percent = (share) => `${Math.round(100 * share)} %`;

export const when = (date) => new Date(date).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });

// A sentence that stays until it is closed.
export function tell(sentence) {
  const notice = byId("notice");
  notice.querySelector("p").textContent = sentence[0].toUpperCase() + sentence.slice(1) + (/[.!?]$/.test(sentence) ? "" : ".");
  notice.hidden = false;
}

export function quiet() {
  byId("notice").hidden = true;
}

// Ask once; the promise is true if the answer is yes.
export function ask(title, sentences, yes) {
  const dialog = byId("ask");
  byId("ask-title").textContent = title;
  byId("ask-text").replaceChildren(...sentences.map((text) => make("p", {}, text)));
  byId("ask-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

// Run what a person asked for; an error becomes a sentence on the page.
export function attempt(work) {
  return async (...given) => {
    quiet();
    try {
      return await work(...given);
    } catch (error) {
      tell(error.message || String(error));
      return undefined;
    }
  };
}
