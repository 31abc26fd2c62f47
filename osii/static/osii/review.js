// Single keys of the review pages. Everything they do can be done with the mouse, Tab and Enter, and without this file.
"use strict";

const KEYS_OFF = "review-keys-off";

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

// Rows of the queue: j and k move the focus from claim to claim.
function moveInQueue(step) {
  const rows = [...document.querySelectorAll("[data-queue-row]")];
  if (!rows.length) {
    return false;
  }
  const at = rows.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1);
  rows[next].focus();
  return true;
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

// What a key does is said by the element that shows it.
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
    target.focus();
    if (target.select) {
      target.select();
    }
  }
  return true;
}

function initKeys(dialog) {
  const active = () => !document.documentElement.classList.contains("keys-off");
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
    if (event.repeat || isTyping(event.target) || dialog.open) {
      return;
    }
    if (event.key === "?") {
      event.preventDefault();
      dialog.showModal();
      return;
    }
    if (!active()) {
      return;
    }
    const steps = { j: 1, k: -1 };
    const done =
      (event.key in steps && moveInQueue(steps[event.key])) ||
      (/^[1-9]$/.test(event.key) && choose(event.key)) ||
      (/^[a-z]$/.test(event.key) && act(event.key));
    if (done) {
      event.preventDefault();
    }
  });
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
    button.addEventListener("click", () => dialog.showModal());
  });
}

// A decision is sent once, however often its button or key is pressed.
function initOnce() {
  let sent = false;
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) {
      return;
    }
    if (sent) {
      event.preventDefault();
      return;
    }
    sent = true;
    document.querySelector("main").setAttribute("aria-busy", "true");
  });
  window.addEventListener("pageshow", () => {
    sent = false;
    document.querySelector("main").removeAttribute("aria-busy");
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.getElementById("keys");
  if (dialog) {
    initDialog(dialog);
    initKeys(dialog);
  }
  initOnce();
});
