// The review pages: a decision is sent once, however often its button or key is pressed.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
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
});
