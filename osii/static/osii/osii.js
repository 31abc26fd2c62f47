// What makes the pages quicker to work with. Every page works without it.
"use strict";

const THEMES = ["auto", "light", "dark"];

function currentTheme() {
  return document.documentElement.getAttribute("data-bs-theme") || "auto";
}

function setTheme(theme) {
  if (theme === "auto") {
    document.documentElement.removeAttribute("data-bs-theme");
  } else {
    document.documentElement.setAttribute("data-bs-theme", theme);
  }
  try {
    localStorage.setItem("theme", theme);
  } catch (error) {
    // Without storage the choice lasts for this page.
  }
}

function initThemeToggle() {
  const toggle = document.getElementById("theme-toggle");
  if (!toggle) {
    return;
  }
  const show = () => {
    document.getElementById("theme-name").textContent = currentTheme();
    toggle.dataset.theme = currentTheme();
  };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]);
    show();
  });
  show();
}

// The coverage strip is one stop of the Tab key; arrows, Home and End move inside it.
function initRoving(root) {
  root.querySelectorAll("[data-roving]").forEach((strip) => {
    const stops = [...strip.querySelectorAll("a")];
    const select = (index) => {
      stops.forEach((stop, at) => stop.setAttribute("tabindex", at === index ? "0" : "-1"));
    };
    select(Number(strip.dataset.at || 0));
    strip.addEventListener("keydown", (event) => {
      const at = stops.indexOf(event.target.closest("a"));
      const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: stops.length - 1 };
      const next = moves[event.key];
      if (at < 0 || next === undefined || next < 0 || next >= stops.length) {
        return;
      }
      event.preventDefault();
      select(next);
      stops[next].focus();
    });
  });
}

function announce(text) {
  const region = document.getElementById("announce");
  if (region && text) {
    region.textContent = text;
  }
}

function announced() {
  const region = document.getElementById("announce");
  return region ? region.textContent : "";
}

// What a form before this page has done stands in the page; a region is heard only when its text changes.
function initSaid() {
  window.addEventListener("load", () => {
    const said = [...document.querySelectorAll("#messages .notice:not([role=alert]), [data-said]")].map((one) => {
      const copy = one.cloneNode(true);
      copy.querySelectorAll("a, button").forEach((control) => control.remove());
      return copy.textContent.trim().replace(/\s+/g, " ");
    });
    announce(said.join(" "));
  });
}

// What an element is known by when a swap has put a new one in its place.
function sameAs(element) {
  if (element.closest("nav.pages")) {
    return null; // another page is read from its beginning
  }
  if (element.id) {
    return `#${CSS.escape(element.id)}`;
  }
  for (const name of ["href", "value", "action"]) {
    const value = element.getAttribute(name);
    if (value) {
      return `${element.localName}[${name}="${CSS.escape(value)}"]`;
    }
  }
  return element.localName === "summary" ? "summary" : null;
}

// After a swap: tell what was found, and keep the keyboard where it was.
function initSwaps() {
  let before = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const active = document.activeElement || document.body;
    const strip = active.closest("[data-roving]");
    before = {
      id: event.detail.target.id,
      inside: event.detail.target.contains(active),
      at: strip ? [...strip.querySelectorAll("a")].indexOf(active) : -1,
      same: sameAs(active),
    };
  });
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target.id === "announce" && target.textContent === fragment.textContent) {
      event.detail.shouldSwap = false; // said already
    }
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const target = event.target;
    if (!before || target.id !== before.id) {
      return; // a fragment beside the one that was asked for
    }
    announce(target.dataset.announce);
    initRoving(target);
    initPickAll(target);
    const sort = document.getElementById("filter-sort");
    if (sort && "sort" in target.dataset) {
      sort.value = target.dataset.sort; // a column's head may have sorted
    }
    if (!before.inside) {
      return;
    }
    const stops = target.querySelectorAll("[data-roving] a");
    if (before.at >= 0 && stops[before.at]) {
      target.querySelector("[data-roving]").dataset.at = before.at;
      initRoving(target);
      stops[before.at].focus();
    } else if (!target.contains(document.activeElement)) {
      const again = before.same && target.querySelector(before.same);
      if (!again) {
        target.setAttribute("tabindex", "-1");
      }
      (again || target).focus({ preventScroll: true });
    }
    before = null;
  });
}

// Polling rests while the tab is hidden or rows are ticked. What is not answered is asked more and more seldom, each for itself:
// the dock may fail where the run is answered.
const FIRST_WAIT = 4_000;
const LONGEST_WAIT = 60_000;
const NO_ANSWER = "The server does not answer. Trying again.";

function initPolling() {
  const failing = new Map(); // {id of what polls: {times: in a row, until: when it may ask again}}
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!event.target.hasAttribute("data-poll") || event.detail.requestConfig.triggeringEvent) {
      return;
    }
    const waits = failing.has(event.target.id) && performance.now() < failing.get(event.target.id).until;
    if (document.hidden || waits || event.target.querySelector("input[type=checkbox]:checked, select:focus")) {
      event.preventDefault();
    }
  });
  const failed = (event) => {
    if (event.target.hasAttribute && event.target.hasAttribute("data-poll")) {
      const { id } = event.target;
      const times = failing.has(id) ? failing.get(id).times + 1 : 1;
      const wait = Math.min(FIRST_WAIT * 2 ** (times - 1), LONGEST_WAIT);
      failing.set(id, { times, until: performance.now() + wait });
      if (announced() !== NO_ANSWER) {
        announce(NO_ANSWER);
      }
    }
  };
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:afterRequest", (event) => {
    // The element that asked may be swapped away by now, and the event come from what is around it.
    const known = event.detail.successful && failing.delete(event.detail.requestConfig.elt.id);
    if (known && announced() === NO_ANSWER) {
      announce("The server answers again.");
    }
  });
}

// The dock stays as it was left, from page to page and from one look to the next.
function initDock() {
  const open = () => {
    try {
      return sessionStorage.getItem("dock") === "open";
    } catch (error) {
      return false; // without storage it begins closed on each page
    }
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("[data-dock]")) {
      try {
        sessionStorage.setItem("dock", event.target.open ? "open" : "closed");
      } catch (error) {
        // see above
      }
    }
  }, true);
  document.addEventListener("htmx:afterSwap", () => {
    const box = document.querySelector("[data-dock]");
    if (box && open()) {
      box.open = true;
    }
  });
}

// An upload that the server would refuse is not sent, and one that is under way is not sent twice.
function initUpload() {
  const form = document.querySelector("form[data-max-bytes]");
  if (!form) {
    return;
  }
  const inputs = [...form.querySelectorAll("input[type=file]")];
  const warning = document.getElementById("files-too-large");
  const button = form.querySelector("button[type=submit]");
  const label = button.querySelector("[data-busy]");
  const bar = form.querySelector("progress");
  const idle = label.textContent;
  const tooLarge = () => {
    const files = inputs.flatMap((input) => [...input.files]);
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    warning.hidden = bytes <= Number(form.dataset.maxBytes);
    return !warning.hidden;
  };
  const setBusy = (busy) => {
    button.disabled = busy;
    label.textContent = busy ? label.dataset.busy : idle;
    if (bar) {
      bar.hidden = !busy;
      bar.value = 0;
    }
  };
  inputs.forEach((input) => input.addEventListener("change", tooLarge));
  form.addEventListener("submit", (event) => {
    if (tooLarge()) {
      event.preventDefault();
      inputs[0].focus();
      return;
    }
    if (bar) {
      event.preventDefault();
      sendWithProgress(form, bar, setBusy);
    }
    setBusy(true);
    announce(label.dataset.busy);
  });
  window.addEventListener("pageshow", () => setBusy(false));
}

// The same request as the form's own, with a bar; its answer is shown as if the browser had asked for it.
function sendWithProgress(form, bar, setBusy) {
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) {
      bar.value = (100 * event.loaded) / event.total;
    }
  });
  request.addEventListener("load", () => {
    if (request.status < 400) {
      window.location.assign(request.responseURL);
      return;
    }
    const answer = new DOMParser().parseFromString(request.responseText, "text/html");
    const main = answer.getElementById("main");
    if (main) {
      document.getElementById("main").replaceWith(main);
      initUpload();
      main.focus();
    } else {
      setBusy(false);
      announce(`The server answered ${request.status}.`);
    }
  });
  request.addEventListener("error", () => {
    setBusy(false);
    announce("The upload broke off. Try again.");
  });
  request.send(new FormData(form));
}

// One box ticks all boxes of the page; where the script does not run it is not there.
function initPickAll(root) {
  root.querySelectorAll("[data-pick-all]").forEach((all) => {
    const boxes = [...all.form.querySelectorAll(`input[name="${all.dataset.pickAll}"]`)];
    all.hidden = false;
    all.addEventListener("change", () => {
      boxes.forEach((box) => {
        box.checked = all.checked;
      });
    });
  });
}

// A slider says its value; without this script the help text below it does.
function initOutputs() {
  document.addEventListener("input", (event) => {
    if (event.target.matches("input[data-output]")) {
      const said = `${Number(event.target.value).toLocaleString("en")} tokens`;
      document.getElementById(event.target.dataset.output).textContent = said;
      event.target.setAttribute("aria-valuetext", said);
    }
  });
}

// A link to a passage shows it without a click.
function initPassage() {
  const passage = document.querySelector("[data-scroll-here]");
  if (passage) {
    passage.scrollIntoView({ block: "center" });
  }
}

document.addEventListener("DOMContentLoaded", () => {
  initThemeToggle();
  initSaid();
  initUpload();
  initPickAll(document);
  initPassage();
  initOutputs();
  initRoving(document);
  initSwaps();
  initPolling();
  initDock();
});
