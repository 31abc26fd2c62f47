"""Pictures of every page, of the demo's data: ``make screenshots``.

All of them, wide and on a phone, light and dark, go to ``var/screenshots``; those that README and docs show are written
to ``docs/images`` too. Everything is made in a home of its own, which is deleted afterwards.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, CHROMIUM

BASE = Path(__file__).resolve().parent.parent.parent
OUT = BASE / "var" / "screenshots"
IMAGES = BASE / "docs" / "images"
PASSWORD = "only for pictures"
START_SECONDS = 180

LOOKS = {
    "wide-light": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"},
    "wide-dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "phone-light": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
SHOWN = {"chat": "wide-light", "context": "wide-light", "search": "wide-dark", "run": "wide-dark"}
"""Page to look: those of README and docs."""

PAGES = {
    "home": "/",
    "chats": "/chats/",
    "review": "/review/?state=all",
    "propositions": "/propositions/",
    "graph": "/graph/",
    "documents": "/documents/",
    "collections": "/collections/",
    "intake": "/intake/",
    "process-library": "/intake/process/",
    "activity": "/activity/",
    "imports": "/imports/",
    "search": "/search/?q=heat+pump",
    "context": "/context/?topic=How+do+plants+make+sugar+from+light%3F",
    "talk": "/talk/",
    "styleguide": "/styleguide/",
    "login": "/login/",
    "nothing-found": "/chats/?q=nothing+of+this+name",
    "not-there": "/nothing/",
}
# One thing of a list: the list's page, or one that was opened before it, and what is clicked on it.
OPENED = {
    "chat": ("/chats/", "main tbody th a:has-text('Photosynthesis')"),
    "proposition": ("/propositions/", "main tbody th a"),
    "document": ("/documents/", "main tbody th a"),
    "run": ("/activity/", "main tbody a[href*='/activity/runs/']"),
    "candidate": ("proposition", "main .resolution-claim a"),
    "batch": ("chat", "main a[href^='/batches/']"),
    "purge": ("chat", "main a[href$='/purge/']"),
    "forget": ("proposition", "main a[href$='/forget/']"),
    "remove": ("document", "main a[href$='/remove/']"),
    "plan-documents": ("/intake/process/?planned=1&chunks=on", "main a[href*='/intake/process/documents/']"),
}
TABS = ("source", "extractions", "outputs", "propositions", "lineage")


def environment(home: str, port: int) -> dict[str, str]:
    return os.environ | {"OSII_HOME": home, "OSII_PORT": str(port), "OSII_ADMIN_PASSWORD": PASSWORD}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of a server that has the demo's data, while it runs."""
    manage = [sys.executable, str(BASE / "manage.py")]
    with tempfile.TemporaryDirectory(prefix="osii-pictures-") as home:
        port = free_port()
        variables = environment(home, port)
        subprocess.run([*manage, "demo"], env=variables, check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen([*manage, "up"], env=variables, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_SECONDS
            while socket.socket().connect_ex(("127.0.0.1", port)):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("error: the server for the pictures did not start")
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


def log_in(page: Page) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def addresses(page: Page) -> dict[str, str]:
    """{name of a picture: address}; of each list its first thing too."""
    found = dict(PAGES)
    for name, (listing, link) in OPENED.items():
        page.goto(found.get(listing, listing))
        shown = page.locator(link)
        target = shown.first.get_attribute("href") if shown.count() else None
        if target:
            found[name] = target
        else:
            sys.stderr.write(f"no picture of {name}: {page.url} has no {link}\n")
    found["batches"] = f"{found['chat'].partition('?')[0]}batches/"
    found |= {f"document-{tab}": f"{found['document'].partition('?')[0]}?tab={tab}" for tab in TABS}
    return found


def keep(name: str, look: str, picture: bytes) -> None:
    (OUT / f"{name}-{look}.png").write_bytes(picture)
    if SHOWN.get(name) == look:
        # Two hundred colours are enough for a page, and a quarter of the bytes.
        small = Image.open(BytesIO(picture)).convert("RGB").quantize(200)
        small.save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    if CHROMIUM is None:
        raise SystemExit("error: chromium was not found: install it, or name it in CHROMIUM")
    OUT.mkdir(parents=True, exist_ok=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for look, options in LOOKS.items():
            page = browser.new_context(base_url=address, reduced_motion="reduce", **options).new_page()
            page.set_default_timeout(1000 * START_SECONDS)  # the first search loads the model
            log_in(page)
            pages = addresses(page)
            for name, target in pages.items():
                page.goto(target, wait_until="networkidle")
                keep(name, look, page.screenshot())
            sys.stdout.write(f"{look}: {len(pages)} pages\n")
        browser.close()
    sys.stdout.write(
        f"They are in {OUT.relative_to(BASE)}; those of the documentation in {IMAGES.relative_to(BASE)}.\n"
    )


if __name__ == "__main__":
    main()
