"""A real browser on a real server. Without chromium on the machine these tests are left out, and pytest says so.

Every page that a test opens is watched: a request to another host, a script error, or anything that the content
security policy refused makes the test fail at its end.
"""

import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from extraction.models import Batch, Run
from extraction.running import runs
from osii import workers
from tests.browser.chromium import ARGUMENTS, CHROMIUM

HERE = Path(__file__).parent

PATIENCE = 20_000
"""Milliseconds until what does not come is missing; what comes is never waited for longer than it takes."""

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no chromium on this machine: browser tests are left out"))


@pytest.fixture(scope="module")
def browser(django_db_setup: None) -> Iterator[Browser]:
    """One for a module, not longer: playwright's event loop runs in this thread, where other tests start their own.

    Django takes that loop for an async caller, hence the setting.
    """
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield made
        made.close()


LEFT = ("htmx:sendAbort", "htmx:afterRequest")
"""What htmx reports when a page is left while it asks how far a run is."""


class Watch:
    """What a page did that it must not do. ``expected`` holds parts of console lines that a test provokes."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.seen: list[str] = []
        self.expected: list[str] = [*LEFT]

    def on(self, page: Page) -> None:
        page.on("request", lambda request: self.on_request(request.url))
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.seen.append(f"script error: {error}"))

    def on_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.netloc != self.host:
            self.seen.append(f"request to another host: {url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not any(part in message.text for part in self.expected):
            self.seen.append(f"{message.type}: {message.text}")


@pytest.fixture
def watch(live_server) -> Watch:
    return Watch(urlsplit(live_server.url).netloc)


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("admin", password="a lamp in the dark")


@pytest.fixture
def open_context(live_server, browser, admin, watch, rq_connection) -> Iterator[Callable[..., BrowserContext]]:
    """Makes browser contexts that are logged in (``login=False``: not), each with a session of its own."""
    made: list[BrowserContext] = []

    def make(*, login: bool = True, **options) -> BrowserContext:
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(PATIENCE)
        context.on("page", watch.on)
        if login:
            client = Client()
            client.force_login(admin)
            name = settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()
    assert watch.seen == []


@pytest.fixture
def page(open_context) -> Page:
    return open_context(viewport={"width": 1280, "height": 900}).new_page()


@pytest.fixture(autouse=True)
def home(settings, tmp_path: Path) -> Path:
    """A store and uploads of this test's own: what an earlier one left on disk would be registered again."""
    settings.OSII_HOME = tmp_path / "home"
    settings.OSII_HOME.mkdir()
    return settings.OSII_HOME


@pytest.fixture
def work(manage, child_environment, home) -> Callable[[str], None]:
    """Has a real worker do what waits in a queue."""

    def run(queue: str) -> None:
        command, variables = manage("work", queue, "--burst"), child_environment | {"OSII_HOME": str(home)}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def work_here(rq_connection) -> Callable[[str], None]:
    """Does what waits in a queue in this process: no other one to start, for tests that are not about workers."""
    return lambda queue: workers.worker(queue).work(burst=True, logging_level="CRITICAL")


class Hold:
    """A point at which the reading rests until the test has seen what it wants to see."""

    def __init__(self) -> None:
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self, batch: Batch) -> None:
        self.reached.set()
        assert self.go.wait(timeout=60)


@pytest.fixture
def hold() -> Hold:
    return Hold()


@pytest.fixture
def reading() -> Iterator[Callable[..., None]]:
    """Reads a queued run in a thread. With ``hold`` it says there when a batch is done, and waits to be told to go on."""
    with ThreadPoolExecutor(1) as pool:
        begun: list[Future] = []

        def read(run: Run, hold: Hold | None = None) -> Future:
            begun.append(pool.submit(_read, run, hold))
            return begun[-1]

        yield read
        for one in begun:
            one.result(timeout=30)


def _read(run: Run, hold: Hold | None) -> None:
    try:
        runs.execute(run.pk, *([hold] if hold else []))
    finally:
        connections.close_all()
