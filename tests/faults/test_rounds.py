"""Random faults under a mixed load, and each child of `up` killed: work goes on by itself, and everything that must hold does.

One installation serves all of them. `make faults` runs many more rounds; the seed of a round that failed repeats it.
"""

import logging
import random
import uuid
from collections.abc import Iterator

import psutil
import pytest

from .breaking import FAULTS
from .client import Client, Meter
from .installation import CHILDREN, Installation, wait_for
from .rounds import Rounds, installed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = "salt"
logger = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def rounds() -> Iterator[Rounds]:
    with installed(logger.warning) as made:
        yield made


class Work:
    """What an installation is for, done once more through its API."""

    def __init__(self, installation: Installation, token: str) -> None:
        self.installation = installation
        self.api = Client(f"http://127.0.0.1:{installation.port}", token, Meter())
        self.chat = str(uuid.uuid4())

    def store(self) -> None:
        """A chat is begun, and its first message stored."""
        said = f"I keep {random.randrange(10**9)} grams of tin in the workshop. " + "Could you tell me more? " * 90
        message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": said}]}
        self._ask("POST", "/chats", {"id": self.chat, "learner": "after"})
        self._ask("PUT", f"/chats/{self.chat}/messages", [message])

    def read(self) -> None:
        """It is read after `finish`."""
        self._ask("POST", f"/chats/{self.chat}/finish")

        def covered() -> bool:
            answer = self.api.call("GET", f"/chats/{self.chat}/coverage")
            return answer.good and answer.body["uncovered_tokens"] == 0

        wait_for(covered, "reading the chat", 120)

    def steer(self) -> None:
        """Its steer is prepared."""
        prepared = "SELECT status <> 'preparing' FROM graphctx_steer WHERE chat_id = %s"
        wait_for(lambda: self.installation.rows(prepared, [self.chat]) == [(True,)], "preparing the steer", 120)

    def add(self) -> None:
        """A file is added, and its text extracted."""
        file = self.installation.inbox / f"{self.chat}.md"
        file.write_text(f"# {self.chat}\n\nTin melts at about 232 degrees Celsius.\n")
        intake = {"workflow": "intake", "queue_paths": [str(file)], "run_extraction": True}
        self._ask("POST", "/runs", intake | {"submission": str(uuid.uuid4())})

        def extracted() -> bool:
            answer = self.api.call("GET", f"/objects?q={self.chat}&extracted=true")
            return answer.good and len(answer.body["items"]) == 1

        wait_for(extracted, "adding the file", 120)

    def lose_jobs(self) -> None:
        """Every job is lost; only a reconciler enqueues them again."""
        FAULTS["freeze chats"](self.installation, None, random)
        self._ask("POST", f"/chats/{self.chat}/finish")
        FAULTS["empty valkey"](self.installation, None, random)
        for worker in self.installation.parts("chats"):
            worker.resume()

    def _ask(self, method: str, path: str, body: object = None) -> None:
        wait_for(lambda: self.api.call(method, path, body).good, f"{method} {path}", 90)


GOES_ON = {
    "web-master": ("store",),
    "web": ("store",),
    "chats": ("store", "read"),
    "library": ("add",),
    "steers": ("store", "steer"),
    "reconcile": ("store", "lose_jobs", "read"),
    "postgres": ("store", "read"),
    "valkey": ("store", "read", "steer"),
    "supervisord": ("store", "read", "steer", "add"),
}
"""What each child is needed for."""


def test_no_child_is_forgotten() -> None:
    assert set(GOES_ON) == set(CHILDREN)


@pytest.mark.parametrize("child", GOES_ON)
def test_a_killed_child_is_started_again_and_work_goes_on(child: str, rounds: Rounds) -> None:
    installation = rounds.installation
    (doomed,) = wait_for(lambda: installation.parts(child), "finding it", 60)
    doomed.kill()

    def another() -> list[psutil.Process]:
        return [process for process in installation.parts(child) if process != doomed]

    wait_for(another, f"another {child}", 90)
    work = Work(installation, rounds.token)
    for step in GOES_ON[child]:
        getattr(work, step)()
    assert installation.process.poll() is None


@pytest.mark.parametrize("number", range(5))
def test_random_faults_under_load_lose_nothing_and_leave_nothing(number: int, rounds: Rounds) -> None:
    assert rounds.run(f"{SEED}-{number}", seconds=2, faults=2, clients=3) == []
