"""Rounds of random faults under a mixed load: what happens when is decided by a seed, and afterwards everything is proved.

``Rounds`` is one installation over which rounds are run, one after the other.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from osii.embedded.placement import ELSEWHERE
from osii.env import BASE_DIR

from .breaking import FAULTS, Planned, Undo, schedule
from .installation import Installation
from .load import Load
from .memory import lost
from .model import Model

UNDER_WAY = """
SELECT (SELECT count(*) FROM extraction_run WHERE status IN ('queued', 'running')),
       (SELECT count(*) FROM osii_processingrun WHERE status IN ('queued', 'running')),
       (SELECT count(*) FROM osii_processingitem WHERE status IN ('queued', 'running')),
       (SELECT count(*) FROM osii_chatimport WHERE status IN ('queued', 'running')),
       (SELECT count(*) FROM graphctx_steer WHERE status = 'preparing'),
       (SELECT count(*) FROM extraction_batch WHERE status = 'running')
"""
LEDGER = """
SELECT e.id, md5(e::text) FROM coverage_coverageentry e JOIN coverage_chat c ON c.id = e.chat_id ORDER BY e.id
"""
FIGURES = """
SELECT (SELECT count(*) FROM coverage_message), (SELECT count(*) FROM coverage_coverageentry),
       (SELECT count(*) FROM graphctx_instance), (SELECT count(*) FROM extraction_batch WHERE worker = 'llm'),
       (SELECT count(*) FROM extraction_batch WHERE status = 'parked'),
       (SELECT count(*) FROM extraction_run WHERE recoveries > 0), (SELECT count(*) FROM extraction_document),
       (SELECT count(*) FROM osii_output), (SELECT count(*) FROM osii_processingitem WHERE status = 'failed'),
       (SELECT count(*) FROM osii_processingitem WHERE recoveries > 0), (SELECT count(*) FROM extraction_promotion)
"""
FIGURE_NAMES = (
    "messages", "ledger lines", "instances", "batches by the model", "parked", "recovered runs", "documents", "outputs",
    "failed items", "recovered items", "promotions",
)  # fmt: skip
DUE = """
SELECT c.id FROM coverage_chat c WHERE c.id = ANY(%s) AND NOT EXISTS (
    SELECT 1 FROM extraction_run r WHERE r.chat_id = c.id AND r.status IN ('failed', 'aborted'))
"""
PATIENCE = 4
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
    "EXTRACTION_CHUNK_TOKENS": "500",
    "EXTRACTION_LEASE_SECONDS": "5",
    "OSII_RECONCILE_SECONDS": "2",
    "FAULT_HURRY": "1",
    "FAULT_CLOCK": "1",
}


class Rounds:
    """Runs rounds; ``tell`` hears what happens, line by line."""

    def __init__(self, installation: Installation, model: Model, tell: Callable[[str], None]) -> None:
        self.installation, self.model, self.tell = installation, model, tell
        self.token = installation.manage("create_token", "--staff")["token"]
        self._checker: subprocess.Popen | None = None

    def run(self, seed: str, *, seconds: float = 6, faults: int = 4, clients: int = 4) -> list[str]:
        """One round; returns what is wrong afterwards, one line each."""
        planned = schedule(random.Random(f"faults {seed}"), seconds, faults)
        self.tell(f"round {seed}: " + "; ".join(map(str, planned)))
        load = Load(
            f"http://127.0.0.1:{self.installation.port}", self.token, seed,
            clients=clients, librarians=1, inbox=self.installation.inbox, pause=0.15,
        )  # fmt: skip
        load.start()
        ledger = self._break(planned, seconds, random.Random(f"choices {seed}"))
        load.stop()
        begun = time.monotonic()
        wrong = self.drain()
        drained = time.monotonic() - begun
        wrong += self._proved(load, ledger)
        calls, failed = load.meter.count(), load.meter.count(most=0) + load.meter.count(least=500)
        told = f"{calls} calls, {failed} without a good answer; drained after {drained:.1f} s"
        self.tell(f"  {told}; {len(wrong)} wrong; in all {self._figures()}")
        return wrong

    def _figures(self) -> str:
        """What all rounds so far have made: a round in which nothing happens proves nothing."""
        row = self.installation.rows(FIGURES)[0]
        return ", ".join(f"{count} {name}" for name, count in zip(FIGURE_NAMES, row, strict=True))

    def _break(self, planned: list[Planned], seconds: float, choose: random.Random) -> dict[Any, str]:
        """Let the faults happen at their times, and end; returns lines of the ledger that were seen meanwhile."""
        begun, waiting, ledger = time.monotonic(), list(planned), {}
        open_until: list[tuple[float, Undo]] = []
        try:
            while (now := time.monotonic() - begun) < seconds or waiting or open_until:
                if waiting and waiting[0].at <= now:
                    fault = waiting.pop(0)
                    undo = FAULTS[fault.name](self.installation, self.model, choose)
                    open_until.append((time.monotonic() - begun + fault.seconds, undo))
                open_until.sort(key=lambda one: one[0])
                while open_until and open_until[0][0] <= now:
                    open_until.pop(0)[1]()
                ledger |= self._ledger()
                time.sleep(0.1)
        finally:
            for _, undo in open_until:
                undo()
        self.installation.start()
        return ledger

    def _ledger(self) -> dict[Any, str]:
        try:
            return dict(self.installation.rows(LEDGER))
        except psycopg.Error:
            return {}

    def drain(self, seconds: float = 150) -> list[str]:
        """Wait until nothing is under way any more, by itself. What is still there when it has not become less for so many
        seconds, or after PATIENCE times as long, is wrong: a busy machine is slow, and a hung one stays as it is.
        """
        state: dict[str, Any] = {"least": None, "until": time.monotonic() + seconds}
        end = time.monotonic() + PATIENCE * seconds

        def idle() -> bool:
            if self.installation.process.poll() is not None:
                state["up"] = "ended by itself"
                self.installation.start()
            if not self.installation.ready():
                state["ready"] = False
                return False
            try:
                counts = self.installation.rows(UNDER_WAY)[0]
            except psycopg.Error:
                return False
            counts = (*counts, len(list((self.installation.home / "store" / "unfinished").glob("*"))))
            names = ("runs", "processing runs", "items", "imports", "steers", "batches", "documents to heal")
            state["left"] = {name: count for name, count in zip(names, counts, strict=True) if count}
            state["ready"] = True
            if state["least"] is None or sum(counts) < state["least"]:
                state.update(least=sum(counts), until=time.monotonic() + seconds)
            return not state["left"]

        while not idle():
            if time.monotonic() > min(state["until"], end):
                return [f"draining stands still, or takes too long: {state}"]
            time.sleep(0.25)
        return [f"up {state['up']}"] if "up" in state else []

    def _proved(self, load: Load, ledger: dict[Any, str]) -> list[str]:
        wrong = [f"refused: {line}" for line in load.meter.strange]
        wrong += lost(load.memories, self.installation.rows)
        wrong += self._ledger_kept(load, ledger)
        wrong += self._nothing_due(load)
        wrong += [f"{room}: {line}" for room, lines in self.violations().items() for line in lines]
        return wrong

    def _ledger_kept(self, load: Load, seen: dict[Any, str]) -> list[str]:
        if any(talk.erasing for memory in load.memories for talk in memory.talks):
            kept = {str(key) for (key,) in self.installation.rows("SELECT id FROM coverage_coverageentry")}
            seen = {key: mark for key, mark in seen.items() if str(key) in kept}
        now = self._ledger()
        return [f"line {key} of the ledger is changed or gone" for key, mark in seen.items() if now.get(key) != mark]

    def _nothing_due(self, load: Load) -> list[str]:
        """Where `finish` was acknowledged last, what is due was read, or a run says why not."""
        finished = [talk.id for m in load.memories for talk in m.talks if talk.finished and not talk.stopped]
        calm = {str(key) for (key,) in self.installation.rows(DUE, [[*map(UUID, finished)]])}
        writer = load.writers[0]
        due = []
        for chat in calm:
            answer = writer.ask("GET", f"/chats/{chat}/coverage")
            if not answer.good or answer.body["due"]:
                due.append(f"chat {chat} was finished, and is still due: {answer.status}")
        return due

    def violations(self) -> dict[str, list[str]]:
        """What `check_invariants` finds, by room."""
        for _ in range(3):
            found = self._ask_checker()
            if "checker" not in found:
                return found
        return found

    def _ask_checker(self) -> dict[str, list[str]]:
        if self._checker is None or self._checker.poll() is not None:
            self._checker = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.checker"],
                env={k: v for k, v in self.installation.environment.items() if k != "FAULT_CLOCK"},
                cwd=BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        self._checker.stdin.write("\n")
        self._checker.stdin.flush()
        answer = self._checker.stdout.readline()
        return json.loads(answer) if answer else {"checker": ["ended by itself"]}

    def keep(self, name: str) -> Path:
        """Put the logs of a failed round aside; says where."""
        kept = BASE_DIR / "var" / "faults" / name
        kept.mkdir(parents=True, exist_ok=True)
        for log in [self.installation.log, *self.installation.layout.logs.glob("*.log")]:
            shutil.copy(log, kept)
        (kept / "processes.txt").write_text("".join(f"{line}\n" for line in self.installation.told()))
        self.tell(f"  its logs are in {kept}")
        return kept

    def close(self) -> None:
        if self._checker is not None:
            self._checker.stdin.close()
            self._checker.wait(30)


@contextmanager
def installed(tell: Callable[[str], None], settings: Mapping[str, str] | None = None) -> Iterator[Rounds]:
    """An installation of its own in /tmp with a model to ask, up for as long as the block lasts, then removed."""
    directory = Path(tempfile.mkdtemp(prefix="osii faults ", dir="/tmp"))
    directory.chmod(0o755)
    model = Model()
    installation = Installation(directory, **(SETTINGS | model.settings | dict(settings or {})))
    rounds = None
    try:
        installation.start(240)
        rounds = Rounds(installation, model, tell)
        yield rounds
    finally:
        if rounds is not None:
            rounds.close()
        installation.stop()
        model.close()
        for path in (installation.layout.sockets, ELSEWHERE / installation.layout.key, directory):
            shutil.rmtree(path, ignore_errors=True)
