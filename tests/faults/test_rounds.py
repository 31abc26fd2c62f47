"""Random faults under a mixed load, and each child of `up` killed: work goes on by itself, and everything that must hold does.

One installation serves all of them. `make faults` runs many more rounds; the seed of a round that failed repeats it.
"""

import logging
import random
import uuid
from collections.abc import Iterator

import psutil
import pytest

from .client import Client, Meter
from .installation import CHILDREN, Installation, wait_for
from .rounds import Rounds, installed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = "suite"
logger = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def rounds() -> Iterator[Rounds]:
    with installed(logger.warning) as made:
        yield made


def works(installation: Installation, token: str) -> None:
    """A new chat is stored, read, and given its steer; a file is added and extracted."""
    api = Client(f"http://127.0.0.1:{installation.port}", token, Meter())
    chat, submission = str(uuid.uuid4()), str(uuid.uuid4())
    said = (
        f"I keep {random.randrange(10**9)} grams of tin in the workshop. " + "Could you tell me more about that? " * 60
    )
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": said}]}
    file = installation.inbox / f"{chat}.md"
    file.write_text(f"# {chat}\n\nTin melts at about 232 degrees Celsius.\n")
    intake = {"workflow": "intake", "queue_paths": [str(file)], "run_extraction": True, "submission": submission}

    def done(method: str, path: str, body: object = None) -> bool:
        return api.call(method, path, body).good

    def read() -> bool:
        answer = api.call("GET", f"/chats/{chat}/coverage")
        return answer.good and answer.body["uncovered_tokens"] == 0

    def added() -> bool:
        answer = api.call("GET", f"/objects?q={chat}&extracted=true")
        return answer.good and len(answer.body["items"]) == 1

    wait_for(lambda: done("POST", "/chats", {"id": chat, "learner": "after"}), "beginning a chat", 90)
    wait_for(lambda: done("PUT", f"/chats/{chat}/messages", [message]), "storing", 90)
    wait_for(lambda: done("POST", f"/chats/{chat}/finish"), "finishing", 90)
    wait_for(lambda: done("POST", "/runs", intake), "an intake", 90)
    wait_for(read, "reading the chat", 120)
    wait_for(added, "adding the file", 120)
    prepared = "SELECT status <> 'preparing' FROM graphctx_steer WHERE chat_id = %s"
    wait_for(lambda: installation.rows(prepared, [chat]) == [(True,)], "preparing the steer", 120)


@pytest.mark.parametrize("child", CHILDREN)
def test_a_killed_child_is_started_again_and_work_goes_on(child: str, rounds: Rounds) -> None:
    installation = rounds.installation
    (doomed,) = wait_for(lambda: installation.parts(child), "finding it", 60)
    doomed.kill()

    def another() -> list[psutil.Process]:
        return [process for process in installation.parts(child) if process != doomed]

    wait_for(another, f"another {child}", 90)
    works(installation, rounds.token)
    assert installation.process.poll() is None


@pytest.mark.parametrize("number", range(5))
def test_random_faults_under_load_lose_nothing_and_leave_nothing(number: int, rounds: Rounds) -> None:
    assert rounds.run(f"{SEED}-{number}", seconds=3, faults=2, clients=3) == []
