// Single keys. Everything they do can be done with the mouse, Tab and Enter, and without this file. The dialog that "?"
// opens lists those of the page, and switches all others off for whoever speaks to the machine or types by accident.
"use strict";

const KEYS_OFF = "review-keys-off";
// What j and k go through: the links that stand for the rows of a list, one a row.
const ROWS = "[data-row], main .data-table tbody th[scope=row], main .message-number, main .search-head";

function keysOff() {
  try {
    return localStorage.getItem(KEYS_OFF) === "yes";
  } catch (error) {
    return false;
  }
}

function rememberKeys(off) {
  try {
    localStorage.setItem(KEYS_OFF, off ? "yes" : "no");
  } catch (error) {
    // Without storage the choice lasts for this page.
  }
}

function isTyping(target) {
  const field = target.closest("input, textarea, select, [contenteditable]");
  return Boolean(field) && field.type !== "radio" && field.type !== "checkbox";
}

function isShown(element) {
  return element.checkVisibility ? element.checkVisibility() : element.getClientRects().length > 0;
}

function goTo(field) {
  if (!field || !isShown(field)) {
    return false;
  }
  field.focus();
  if (field.select) {
    field.select();
  }
  return true;
}

function rowLinks() {
  const links = [...document.querySelectorAll(ROWS)].map((row) => (row.matches("a") ? row : row.querySelector("a")));
  return [...new Set(links)].filter((link) => link && isShown(link));
}

// From the row that the focus is in; from none, the first one below the top of the window.
function moveInRows(step) {
  const links = rowLinks();
  if (!links.length) {
    return false;
  }
  const here = document.activeElement;
  const row = here.closest("tr, li");
  let at = links.findIndex((link) => link === here || (row && row.contains(link)));
  if (at < 0) {
    const below = links.findIndex((link) => link.getBoundingClientRect().top >= 0);
    at = (below < 0 ? links.length : below) - (step > 0 ? 1 : 0);
  }
  const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function pickRow() {
  const row = document.activeElement.closest("tr");
  const box = row && row.querySelector(".cell-pick input[type=checkbox]");
  if (!box) {
    return false;
  }
  box.click();
  return true;
}

function turnPage(rel) {
  const link = document.querySelector(`main nav.pages a[rel=${rel}]`);
  if (link) {
    link.click();
  }
  return Boolean(link);
}

function choose(number) {
  const radio = document.querySelector(`[data-choose="${number}"]`);
  if (!radio) {
    return false;
  }
  radio.checked = true;
  radio.focus();
  return true;
}

// What a key does on its page alone is said by the element that shows it.
function act(key) {
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!target || target.disabled) {
    return false;
  }
  if (target.matches("a")) {
    target.click();
  } else if (target.matches("button[type=submit]")) {
    target.form.requestSubmit(target);
  } else {
    goTo(target);
  }
  return true;
}

const COMMON = {
  "/": () => goTo(document.getElementById("find-everything")) || goTo(document.querySelector('[data-shortcut="/"]')),
  f: () => goTo(document.querySelector("form.filters input:not([type=hidden])")),
  j: () => moveInRows(1),
  k: () => moveInRows(-1),
  x: pickRow,
  n: () => turnPage("next"),
  p: () => turnPage("prev"),
};

function initKeys(dialog) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) {
      return;
    }
    if (event.key === "Escape" && isTyping(event.target)) {
      event.target.blur();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.repeat && event.target.matches("[data-enter-submits]")) {
      event.preventDefault();
      event.target.form.requestSubmit(event.target.form.querySelector("button[type=submit]"));
      return;
    }
    const stepping = event.key === "j" || event.key === "k";
    if ((event.repeat && !stepping) || isTyping(event.target) || dialog.open) {
      return;
    }
    if (event.key === "?") {
      event.preventDefault();
      openKeys(dialog);
      return;
    }
    if (document.documentElement.classList.contains("keys-off")) {
      return;
    }
    const done =
      (/^[1-9]$/.test(event.key) && choose(event.key)) ||
      (/^[a-z]$/.test(event.key) && !event.repeat && act(event.key)) ||
      (Object.hasOwn(COMMON, event.key) && COMMON[event.key]());
    if (done) {
      event.preventDefault();
    }
  });
}

// The list names what the page has now, which a swap may have changed. Closing gives the focus back by itself.
function openKeys(dialog) {
  dialog.querySelectorAll("[data-needs]").forEach((line) => {
    line.hidden = ![...document.querySelectorAll(line.dataset.needs)].some(isShown);
  });
  dialog.showModal();
}

function initDialog(dialog) {
  const root = document.documentElement;
  const toggle = document.getElementById("keys-enabled");
  const show = (off) => {
    root.classList.add("keys-known");
    root.classList.toggle("keys-off", off);
    toggle.checked = !off;
  };
  show(keysOff());
  toggle.addEventListener("change", () => {
    rememberKeys(!toggle.checked);
    show(!toggle.checked);
  });
  document.querySelectorAll("[data-open-keys]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => openKeys(dialog));
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) {
      dialog.close(); // outside of it
    }
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.getElementById("keys");
  if (dialog) {
    initDialog(dialog);
    initKeys(dialog);
  }
});
