// The built-in chat as it is streamed. Without this script each form reloads the page and shows the same.
"use strict";

const STREAM = "text/event-stream";
const BUSY_PAUSE = 1500;

// One event of a stream: its name and its data.
function parsed(block) {
  const event = { name: "message", data: {} };
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) {
      event.name = line.slice(7);
    } else if (line.startsWith("data: ")) {
      event.data = JSON.parse(line.slice(6));
    }
  }
  return event;
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    rest += value;
    let end = rest.indexOf("\n\n");
    while (end >= 0) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (block.startsWith("event: ")) {
        yield parsed(block);
      }
      end = rest.indexOf("\n\n");
    }
  }
}

function element(name, classes, text) {
  const made = document.createElement(name);
  made.className = classes;
  made.textContent = text || "";
  return made;
}

// What is under way, below the conversation: the learner's words as they were sent, and the answer as it comes.
class Now {
  constructor(root, words) {
    this.place = root.querySelector("[data-talk-now]");
    this.place.replaceChildren();
    if (words) {
      const said = element("div", "talk-turn talk-user");
      said.append(element("div", "talk-body", words));
      this.place.append(said);
    }
    const pending = element("div", "talk-turn talk-assistant talk-pending");
    this.text = element("div", "talk-body");
    pending.append(element("p", "talk-speaker", "The tutor is answering …"), this.text);
    this.place.append(pending);
    pending.scrollIntoView({ block: "nearest" });
  }

  add(text) {
    this.text.textContent += text;
  }

  refuse(reason) {
    const notice = element("div", "notice notice-error");
    notice.setAttribute("role", "alert");
    notice.append(element("span", "", reason));
    this.place.replaceChildren(notice);
    notice.scrollIntoView({ block: "nearest" });
  }
}

// The conversation as the server has it, with what was typed and not sent.
async function refresh(root, reason, kept) {
  await htmx.ajax("GET", root.dataset.talk, { target: "#talk", swap: "outerHTML" });
  const fresh = document.getElementById("talk");
  const field = fresh.querySelector("[data-talk-focus]");
  if (field && kept && field.type !== "radio") {
    field.value = kept;
  }
  const last = fresh.querySelector("#last");
  if (last) {
    last.scrollIntoView({ block: "nearest" });
  }
  if (field) {
    field.focus({ preventScroll: !reason });
    field.scrollIntoView({ block: "nearest" });
  }
  if (reason) {
    new Now(fresh).refuse(reason);
  }
}

function send(url, body) {
  return fetch(url, { method: "POST", body, headers: { Accept: STREAM }, credentials: "same-origin" });
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function play(root, url, body, words, kept) {
  const now = new Now(root, words);
  let busy = true;
  while (busy) {
    busy = false;
    let ended = false;
    const response = await send(url, body);
    if (!response.ok || response.redirected || !(response.headers.get("Content-Type") || "").startsWith(STREAM)) {
      window.location.reload(); // logged out, or gone: the server says which
      return;
    }
    for await (const event of eventsOf(response)) {
      if (event.name === "text") {
        now.add(event.data.text);
      } else if (event.name === "busy") {
        busy = true;
      } else {
        ended = true;
        const refused = event.name === "refused";
        await refresh(root, event.name === "done" ? "" : event.data.reason, refused ? kept : "");
      }
    }
    if (busy) {
      await pause(BUSY_PAUSE);
    } else if (!ended) {
      throw new TypeError("the stream broke off");
    }
  }
}

// What a form would send, and of it the learner's words.
async function submit(form, button) {
  const root = document.getElementById("talk");
  const body = new FormData(form);
  if (button && button.name) {
    body.set(button.name, button.value);
  }
  const typed = body.get("text") || "";
  const words = body.has("unknown") ? button.textContent.trim() : typed;
  form.inert = true; // it stays where it is, so that a second click does not hit what would move there
  try {
    await play(root, form.action, body, words, typed);
  } catch (error) {
    await refresh(root, "The connection broke off. Nothing that was stored is lost.", typed).catch(() => {
      form.inert = false;
      new Now(root).refuse("The server does not answer. Try again.");
    });
  }
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-talk-form]")) {
    event.preventDefault();
    submit(event.target, event.submitter);
  }
});

document.addEventListener("DOMContentLoaded", () => {
  const begin = document.querySelector("[data-talk-begin]");
  if (begin) {
    const script = document.createElement("input");
    script.type = "hidden";
    script.name = "script";
    script.value = "1";
    begin.append(script);
  }
  const owed = document.querySelector("[data-talk-owed]");
  if (owed && window.location.hash === "#play") {
    submit(owed, null);
  }
  if (window.location.hash === "#play") {
    window.history.replaceState(null, "", window.location.pathname);
  }
});
