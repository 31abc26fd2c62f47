// Before the first paint: the theme that was chosen here or in the admin ("light" or "dark"); "auto" follows the system.
(function () {
  "use strict";
  var theme = "auto";
  try {
    theme = localStorage.getItem("theme") || "auto";
  } catch (error) {
    // Storage may be switched off; then the system decides.
  }
  if (theme === "light" || theme === "dark") {
    document.documentElement.setAttribute("data-bs-theme", theme);
  }
})();
