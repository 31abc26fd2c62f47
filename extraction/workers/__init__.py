"""Extract workers: whatever drives the four tools over an environment."""

import functools
import logging
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from typing import Any, Protocol

from extraction.exploring.tools import ExploreTools
from extraction.installed import worker_paths

logger = logging.getLogger(__name__)


class BatchFailed(Exception):
    """A worker could not finish its batch; the text is the reason. It counts on the batch."""


class BatchTooLarge(BatchFailed):
    """The batch does not fit into what the worker can take in at once: it is split between its messages."""


class WorkerUnavailable(ValueError):
    """The worker cannot work at all just now, whatever the batch: its endpoint is away, or it is not set up.

    It counts on no batch. ``temporary`` says whether trying again later can help, and ``retry_after`` what the endpoint
    asked for, in seconds.
    """

    def __init__(self, message: str, *, temporary: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.temporary = temporary
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Allowance:
    """Money that one batch may still cost, and the setting that caps it."""

    amount: Decimal
    cap: str


@dataclass(slots=True)
class WorkerReport:
    """What a worker tells about one attempt besides its candidates.

    ``usage`` counts requests, tokens and whatever else it spent; ``conversation`` is what it and its model said to each
    other, as JSON, already bounded. ``model`` is the model as it was set up, without its key, and ``cost`` what the usage
    cost by its prices; None where no model was used, or no price is known.
    """

    usage: Counter[str] = field(default_factory=Counter)
    conversation: list[dict[str, Any]] = field(default_factory=list)
    model: dict[str, Any] | None = None
    cost: Decimal | None = None


class ExtractWorker(Protocol):
    """Explores an environment through the tools, stages candidates, and finishes.

    ``run`` returns after ``finish_extraction`` was accepted; returning without it fails the batch. It calls
    ``checkpoint`` between steps, which raises when the run was aborted or its lease is lost. It may raise BatchFailed,
    BatchTooLarge or WorkerUnavailable; a worker that has something to tell besides holds a WorkerReport as ``report``,
    which is kept however the attempt ends. A worker with instructions of their own version has a class method ``prompt``
    that returns (version, content hash); for others their own version tells what read a batch. One that takes a model by
    name has ``takes_model`` set, and its constructor the name. One that costs money has ``allow(Allowance | None)``.
    """

    name: str
    version: str

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None: ...


NAME_CHARACTERS = 40
"""What a run's and a batch's ``worker`` holds."""

_REGISTRY: dict[str, str] = {
    "llm": "extraction.workers.llm:LlmWorker",
    "rules": "extraction.workers.rules:RulesWorker",
}


def register_worker(name: str, path: str) -> None:
    """Add a worker as ``package.module:Class``; its constructor takes no arguments."""
    _REGISTRY[name] = path


_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@functools.cache
def _installed() -> dict[str, str]:
    """Those of installed packages that can be loaded: a broken one is told once, and takes no other with it."""
    found = {}
    for name, path in worker_paths().items():
        if name in _REGISTRY or len(name) > NAME_CHARACTERS or _NAME.fullmatch(name) is None:
            logger.warning("Extract worker %s (%s) is not taken: bad name or name taken", name, path)
            continue
        try:
            kind = _class(path)
            acceptable = kind.name == name and isinstance(kind.version, str) and callable(kind.run)
        except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything, and the others are needed
            logger.warning("Extract worker %s (%s) cannot be loaded: %s", name, path, error)
            continue
        if not acceptable:
            logger.warning("Extract worker %s (%s) is not taken: its class has another name", name, path)
            continue
        found[name] = path
    return found


def _class(path: str) -> type[ExtractWorker]:
    module, _, attribute = path.partition(":")
    kind: type[ExtractWorker] = getattr(import_module(module), attribute)
    return kind


def worker_names() -> tuple[str, ...]:
    """Built in, registered, and of installed packages."""
    return tuple(sorted({*_REGISTRY, *_installed()}))


def paid_workers() -> tuple[str, ...]:
    """Those of which a batch may cost money."""
    return tuple(name for name in worker_names() if hasattr(worker_class(name), "allow"))


def get_worker(name: str, model: str = "") -> ExtractWorker:
    """A fresh worker of this name, with the model of that name or its default one.

    Raises ValueError naming what is known, WorkerUnavailable if it is not set up.
    """
    made = worker_class(name)
    check_model(name, model)
    return made(model) if model else made()  # type: ignore[call-arg]  # one that takes a model by name


def worker_class(name: str) -> type[ExtractWorker]:
    """Raises ValueError naming the known workers."""
    path = _REGISTRY.get(name) or _installed().get(name)
    if path is None:
        raise ValueError(f"there is no extract worker {name!r}; known: {', '.join(worker_names())}")
    return _class(path)


def check_model(name: str, model: str) -> None:
    """Raises ValueError when there is no such worker, or it takes no model and one is named."""
    takes = getattr(worker_class(name), "takes_model", False)
    if model and not takes:
        raise ValueError(f"the worker {name!r} takes no model, but {model!r} is named; leave it out, or choose llm")


def prompt_of(worker: ExtractWorker | type[ExtractWorker]) -> tuple[str, str]:
    """The version of a worker's instructions and the hash of their text; its own version and "" where it has none."""
    own = getattr(worker, "prompt", None)
    return own() if own is not None else (worker.version, "")


def as_recorded(worker: ExtractWorker) -> dict[str, Any]:
    """What reads a batch, by the columns in which the batch records it."""
    version, text = prompt_of(worker)
    model = getattr(worker, "report", WorkerReport()).model or {}
    return {"worker_version": worker.version, "prompt_version": version, "prompt_hash": text, "model": model}
