"""Which browser, and how it is started."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
"""Its path; None without one on this machine."""

# Chromium's own sandbox refuses to run as root, which a container's user is; the pages are our own.
ARGUMENTS = ["--no-sandbox"]
