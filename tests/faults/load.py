"""A mixed load of chats and documents over the HTTP API, reproducible by its seed, that remembers what was acknowledged."""

import itertools
import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .client import Answer, Client, Meter
from .memory import Memory, Talk, Written

METALS = "copper lead tin zinc nickel iron silver gold cobalt chromium titanium tungsten gallium indium bismuth".split()
SIGHTS = "the harbour bridge|the old mill|a glass kiln|the north tower|a river lock|the salt works".split("|")
FACTS = (
    "{metal} sample {n} melts at about {number} degrees Celsius.",
    "I live {number} metres from {sight} number {n}.",
    "We decided that batch {n} of {metal} ships from {sight}.",
    "I prefer {metal} of grade {number} for part {n}.",
    "The furnace for {metal} run {n} must stay below {number} degrees.",
)
QUIET_SECONDS = 0.02

Step = Callable[[], None]


def fact(choose: random.Random, number: int) -> str:
    return choose.choice(FACTS).format(
        metal=choose.choice(METALS).capitalize(), sight=choose.choice(SIGHTS), number=choose.randint(40, 3000), n=number
    )


class Writer:
    """One client: chats of one learner, or, with ``inbox``, also the library. ``run`` is its thread."""

    def __init__(self, address: str, token: str, meter: Meter, seed: str, inbox: Path | None = None) -> None:
        self.choose = random.Random(seed)
        self.memory = Memory()
        self.meter = meter
        self.inbox = inbox
        self.learner = f"learner {seed}"
        self._numbers = itertools.count(1)
        self._api = Client(address, token, meter)
        self._steps: list[tuple[int, Step]] = [
            (8, self.append), (3, self.edit), (4, self.finish), (2, self.turn), (2, self.look),
            (2, self.extract), (1, self.delete_message), (1, self.begin), (1, self.abort),
        ]  # fmt: skip
        if inbox is not None:
            self._steps += [
                (6, self.add_files), (4, self.process), (3, self.reprocess), (3, self.promote), (1, self.remove),
                (1, self.erase_chat),
            ]  # fmt: skip

    def run(self, stop: threading.Event, pause: float = QUIET_SECONDS) -> None:
        """Write until ``stop`` is set."""
        weights = [weight for weight, _ in self._steps]
        try:
            self.begin()
            while not stop.wait(self.choose.random() * 2 * pause):
                self.choose.choices([step for _, step in self._steps], weights)[0]()
        except Exception as error:  # a bug of ours must not look like a quiet client
            self.meter.complain(f"{self.learner}: {type(error).__name__}: {error}")
            raise
        finally:
            self._api.close()

    def _call(self, kind: str, method: str, path: str, body: Any = None, *, fine: Sequence[int] = ()) -> Answer:
        """An answer that neither is good nor in ``fine`` nor lost is complained about."""
        answer = self._api.call(method, path, body, kind)
        if not (answer.good or answer.lost or answer.status in fine):
            self.meter.complain(f"{kind} ({method} {path}): {answer.status} {answer.body}")
        return answer

    def ask(self, method: str, path: str) -> Answer:
        """A call from outside, once the thread has ended."""
        return self._api.call(method, path, kind="asked")

    def _talk(self) -> Talk | None:
        talks = [talk for talk in self.memory.talks if talk.begun and not talk.erasing]
        return self.choose.choice(talks[-4:]) if talks else None

    # --- chats ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        talk = Talk(str(uuid.UUID(int=self.choose.getrandbits(128), version=4)), self.learner)
        self.memory.talks.append(talk)
        body = {"id": talk.id, "learner": talk.learner, "title": f"Load {next(self._numbers)}"}
        for _ in range(20):  # what a client does that heard nothing
            if self._call("begin", "POST", "/chats", body).good:
                talk.begun = True
                break
            talk.unsure = True
            time.sleep(0.25)

    def append(self) -> None:
        if talk := self._talk():
            number = len(talk.messages)
            names = [f"m{number}", f"m{number + 1}"]
            talk.messages |= {name: Written() for name in names}
            self._put(talk, names)

    def edit(self) -> None:
        talk = self._talk()
        names = [name for name, written in talk.messages.items() if not written.deleting] if talk else []
        if names:
            self._put(talk, [self.choose.choice(names[-6:])])

    def _put(self, talk: Talk, names: list[str]) -> None:
        talk.finished = False
        body = []
        for name in names:
            written = talk.messages[name]
            written.version += 1
            text = self._text(f"{name}v{written.version}")
            written.texts[written.version] = text
            role = "user" if int(name[1:]) % 2 == 0 else "assistant"
            body.append(
                {
                    "id": name, "role": role, "parts": [{"type": "text", "text": text}],
                    "metadata": {"version": written.version},
                }
            )  # fmt: skip
        answer = self._call("store", "PUT", f"/chats/{talk.id}/messages", body)
        for written in (talk.messages[name] for name in names):
            written.acknowledged = written.version if answer.good else written.acknowledged
            written.unsure = written.unsure or answer.lost

    def _text(self, mark: str) -> str:
        facts = [fact(self.choose, next(self._numbers)) for _ in range(self.choose.randint(1, 3))]
        padding = "Could you tell me a little more about that? " * self.choose.randint(2, 24)
        return f"{' '.join(facts)} {padding}({mark})"

    def delete_message(self) -> None:
        talk = self._talk()
        # Only one whose every write was answered: a late one would bring it back.
        sure = [
            name
            for name, written in (talk.messages.items() if talk else ())
            if written.acknowledged and not written.unsure and not written.deleting
        ]
        if sure:
            name = self.choose.choice(sure)
            talk.messages[name].deleting, talk.finished = True, False
            talk.messages[name].deleted = self._call("delete", "DELETE", f"/chats/{talk.id}/messages/{name}").good

    def finish(self) -> None:
        if talk := self._talk():
            talk.finished = self._call("finish", "POST", f"/chats/{talk.id}/finish").good
            talk.stopped = talk.stopped and not talk.finished

    def extract(self) -> None:
        if talk := self._talk():
            worker = "llm" if self.choose.random() < 0.4 else "rules"
            self._call("extract", "POST", f"/chats/{talk.id}/extract", {"mode": "rest", "worker": worker})

    def abort(self) -> None:
        if talk := self._talk():
            talk.stopped = True
            self._call("abort", "POST", f"/chats/{talk.id}/abort")

    def turn(self) -> None:
        talk = self._talk()
        answer = self._call("turn", "POST", f"/chats/{talk.id}/turn") if talk else None
        if answer and answer.good and (steer := answer.body["steer"]):
            acknowledged = self._call("ack", "POST", f"/chats/{talk.id}/steer/ack", {"steer_id": steer["id"]})
            talk.steer = steer["id"] if acknowledged.good else talk.steer

    def look(self) -> None:
        if talk := self._talk():
            self._call("context", "GET", f"/chats/{talk.id}/context")
            self._call("coverage", "GET", f"/chats/{talk.id}/coverage")
            self._call("read", "GET", f"/chats/{talk.id}")

    def erase_chat(self) -> None:
        talk = self._talk() if len(self.memory.talks) > 2 else None
        if talk and not talk.unsure:
            talk.erasing = True
            talk.erased = self._call("erase", "DELETE", f"/chats/{talk.id}").good

    # --- documents --------------------------------------------------------------------------------------------------

    def add_files(self) -> None:
        paths = []
        for _ in range(self.choose.randint(1, 3)):
            number = next(self._numbers)
            path = self.inbox / f"{self.learner} {number}.md".replace(" ", "-").replace(":", "-")
            lines = [fact(self.choose, number * 1000 + line) for line in range(self.choose.randint(3, 30))]
            path.write_text(f"# Notes {path.stem}\n\n" + "\n\n".join(lines) + "\n", encoding="utf-8")
            paths.append(str(path))
        self._start_run(
            {"workflow": "intake", "queue_paths": paths, "learner": self.learner, **self._operations(extract=True)},
            paths,
        )

    def process(self) -> None:
        self._start_run({"scope": {"all": True}, **self._operations(extract=False)}, [])

    def _operations(self, *, extract: bool) -> dict[str, Any]:
        wanted = {"run_extraction": extract, "build_chunks": True}
        wanted |= {name: self.choose.random() < 0.5 for name in ("build_embeddings", "build_propositions")}
        if self.choose.random() < 0.5:
            wanted["synthesizer_name"] = "default"
        return wanted

    def _start_run(self, body: dict[str, Any], paths: list[str]) -> None:
        body["submission"] = str(uuid.UUID(int=self.choose.getrandbits(128), version=4))
        for _ in range(3):
            # 409: nothing is eligible
            answer = self._call("process", "POST", "/runs", body, fine=(409,))
            if answer.good:
                self.memory.runs[answer.body["id"]] = paths
            if not answer.lost:
                return

    def _document(self) -> dict[str, Any] | None:
        answer = self._call("documents", "GET", "/objects?limit=50&extracted=true")
        items = [
            item
            for item in (answer.body["items"] if answer.good else ())
            if item["file_id"] not in self.memory.removing
        ]
        return self.choose.choice(items) if items else None

    def reprocess(self) -> None:
        if document := self._document():
            policy = self.choose.choice(("make_primary", "save_variant"))
            path = f"/objects/{document['file_id']}/extractions"
            # Somebody may have removed it meanwhile.
            answer = self._call(
                "reprocess", "POST", path, {"force": True, "extraction_policy": policy}, fine=(404, 409)
            )
            if answer.good:
                self.memory.runs[answer.body["id"]] = []

    def promote(self) -> None:
        document = self._document()
        found = document and self._call("versions", "GET", f"/objects/{document['file_id']}/extractions", fine=(404,))
        if not (found and found.good):
            return
        good = [row["id"] for row in found.body["variants"] if row["status"] == "succeeded"]
        others = [version for version in good if version != found.body["primary_id"]]
        if others:
            version = self.choose.choice(others)
            path = f"/objects/{document['file_id']}/extractions/{version}/primary"
            if self._call("promote", "POST", path, {"reason": "load"}, fine=(404, 409)).good:
                self.memory.promoted.append((document["file_id"], version))

    def remove(self) -> None:
        if document := self._document():
            key = document["file_id"]
            self.memory.removing[key] = document["filename"]
            if self._call("remove", "DELETE", f"/objects/{key}", fine=(404,)).good:
                self.memory.removed.add(key)


class Load:
    """Several writers at once."""

    def __init__(
        self, address: str, token: str, seed: str, *, clients: int, librarians: int, inbox: Path, pause: float
    ) -> None:
        self.meter = Meter()
        self.writers = [Writer(address, token, self.meter, f"{seed}-{n}") for n in range(clients)]
        self.writers += [Writer(address, token, self.meter, f"{seed}-L{n}", inbox) for n in range(librarians)]
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=writer.run, args=(self._stop, pause), name=writer.learner, daemon=True)
            for writer in self.writers
        ]

    @property
    def memories(self) -> list[Memory]:
        return [writer.memory for writer in self.writers]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
