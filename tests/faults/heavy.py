"""`make load`: many clients write to chats and look at pages while runs read long chats and the library takes in documents.

At the end everything drains by itself, nothing was refused, and every acknowledged write and every invariant is proved.
"""

import argparse
import contextlib
import os
import random
import re
import statistics
import sys
import threading
import time
from collections import defaultdict
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode

import psutil

from .client import NO_ANSWER, Client, Meter
from .installation import WORKERS, Installation
from .load import Writer, fact

PAGES = (
    "/", "/chats/", "/documents/", "/activity/", "/propositions/", "/intake/", "/search/?q=copper", "/dock/", "/graph/",
)  # fmt: skip
PARTS = ("web", *WORKERS, "reconcile", "valkey", "backend")
SAMPLE_SECONDS = 2.0
LOGIN = {"username": "admin", "password": "only-for-this-run"}


class Chatter(Writer):
    """A client that only talks: it appends, ends turns, and asks for its steer and context."""

    def __init__(self, *arguments, **values) -> None:
        super().__init__(*arguments, **values)
        self._steps = [(8, self.append), (3, self.finish), (2, self.turn), (2, self.look)]


class Reader:
    """Staff who look at one page after the other."""

    def __init__(self, port: int, meter: Meter, seed: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._meter, self._choose = meter, random.Random(seed)
        self._cookies: dict[str, str] = {}

    def run(self, stop: threading.Event, pause: float) -> None:
        form = self._get("/login/")[1]
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
        self._ask("POST", "/login/", urlencode(LOGIN | {"csrfmiddlewaretoken": token[1]}))
        while not stop.wait(self._choose.random() * 2 * pause):
            page = self._choose.choice(PAGES)
            begun = time.monotonic()
            status, _ = self._get(page)
            self._meter.note(f"page {page}", status, time.monotonic() - begun)
            if status != 200:
                self._meter.complain(f"page {page}: {status}")

    def _get(self, path: str) -> tuple[int, str]:
        return self._ask("GET", path, None)

    def _ask(self, method: str, path: str, body: str | None) -> tuple[int, str]:
        self._connection.close()  # whoever looks at a page rests longer than the server keeps a connection
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            text = response.read().decode(errors="replace")
        except (OSError, HTTPException):
            self._connection.close()
            return NO_ANSWER, ""
        for header in response.headers.get_all("Set-Cookie") or ():
            name, _, value = header.partition(";")[0].partition("=")
            self._cookies[name] = value
        return response.status, text


class Scales:
    """The memory of each part, sampled: MB of all its processes together, without what they share twice."""

    def __init__(self, installation: Installation) -> None:
        self.samples: dict[str, list[float]] = defaultdict(list)
        self._installation = installation

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(SAMPLE_SECONDS):
            for part in PARTS:
                used = 0
                for process in self._installation.parts(part):
                    with contextlib.suppress(psutil.Error):
                        full = process.memory_full_info()
                        used += getattr(full, "pss", full.uss)
                self.samples[part].append(used / 2**20)

    def grown(self, part: str) -> tuple[float, float, float]:
        """(median of the second tenth, median of the last tenth, highest) in MB: the first tenth warms up."""
        values = self.samples[part]
        tenth = max(1, len(values) // 10)
        return statistics.median(values[tenth : 2 * tenth] or values), statistics.median(values[-tenth:]), max(values)


def write_documents(folder: Path, count: int, seed: str) -> None:
    """Notes of a few hundred to a few thousand characters, each different."""
    choose = random.Random(f"documents {seed}")
    for number in range(count):
        lines = [fact(choose, number * 100 + line) for line in range(choose.randint(5, 40))]
        (folder / f"note-{number:05}.md").write_text(
            f"# Note {number}\n\n" + "\n\n".join(lines) + "\n", encoding="utf-8"
        )


def long_chats(api: Client, count: int, seed: str) -> list[str]:
    """Chats of some 20,000 tokens that runs are to read; their ids."""
    choose, made = random.Random(f"chats {seed}"), []
    for number in range(count):
        begun = api.call("POST", "/chats", {"learner": f"reader {number}", "title": f"Long chat {number}"}, "prepare")
        made.append(begun.body["id"])
        messages = []
        for place in range(100):
            said = " ".join(fact(choose, place * 10 + line) for line in range(12))
            role = "assistant" if place % 2 else "user"
            messages.append({"id": f"m{place}", "role": role, "parts": [{"type": "text", "text": said}]})
        assert api.call("PUT", f"/chats/{made[-1]}/messages", messages, "prepare").good
    return made


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make load", description="A heavy load on one machine, and what it does to it."
    )
    parser.add_argument("--clients", type=int, default=50, help="that write to chats (default 50)")
    parser.add_argument("--readers", type=int, default=3, help="who look at pages (default 3)")
    parser.add_argument("--runs", type=int, default=20, help="over long chats (default 20)")
    parser.add_argument("--documents", type=int, default=2000, help="taken in and processed (default 2000)")
    parser.add_argument("--think", type=float, default=2.0, help="seconds between two calls of a client (default 2)")
    parser.add_argument("--most", type=float, default=3600, help="seconds after which clients end (default 3600)")
    parser.add_argument("--embedder", default="minilm", help="minilm (default) or hashing")
    parser.add_argument("--workers", type=int, default=1, help="workers for chats (default 1)")
    parser.add_argument("--seed", default="load")
    return parser.parse_args()


def main() -> int:
    given = parsed()
    os.environ["OSII_HOME"] = os.environ.get("OSII_HOME") or "var/test"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "osii.settings")
    import django

    django.setup()
    from .rounds import installed

    settings = {
        "DJANGO_SETTINGS_MODULE": "osii.settings",
        "EXTRACTION_CHUNK_TOKENS": "4000",
        "EXTRACTION_LEASE_SECONDS": "60",
        "OSII_RECONCILE_SECONDS": "30",
        "FAULT_HURRY": "",
        "FAULT_CLOCK": "",
        "OSII_EMBEDDER": given.embedder,
        "OSII_WORKERS": str(given.workers),
    }
    from .weighing import report, weigh

    with installed(say, settings) as rounds:
        wrong, lines = report(*weigh(rounds, given))
    print("\n".join(lines))  # noqa: T201
    return 1 if wrong else 0


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
