// Requests to this server. A token stays in memory, and nothing else does.

import { byId } from "./dom.js";

let token = "";
let asking = null;

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

function askForToken() {
  asking ??= new Promise((done) => {
    const dialog = byId("token");
    dialog.showModal();
    dialog.addEventListener("close", () => {
      token = byId("token-input").value;
      byId("token-input").value = "";
      asking = null;
      done();
    }, { once: true });
  });
  return asking;
}

const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

async function send(method, path, body, more) {
  const headers = { "X-Memoryless": "1" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const plain = body !== undefined && !(body instanceof FormData);
  if (plain) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method, headers, body: plain ? JSON.stringify(body) : body, ...more });
  } catch {
    throw new Refused(0, "The server does not answer. Is it still running?");
  }
}

export async function request(method, path, body, more = {}) {
  for (let tries = 0; ; tries += 1) {
    const answer = await send(method, path, body, more);
    if (answer.ok) return answer;
    if (answer.status === 401) await askForToken();
    else if (answer.headers.has("Retry-After") && answer.status === 503 && tries < 20) await wait(Number(answer.headers.get("Retry-After")) || 1);
    else {
      const said = await answer.json().catch(() => ({}));
      throw new Refused(answer.status, said.error || `The server answered ${answer.status}.`);
    }
  }
}

export const get = async (path) => (await request("GET", path)).json();
export const post = async (path, body = {}) => (await request("POST", path, body)).json();
export const remove = async (path, body, more) => (await request("DELETE", path, body, more)).json();

export async function download(path, name) {
  const content = await (await request("GET", path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
