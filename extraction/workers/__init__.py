"""Extract workers: whatever drives the four tools over an environment."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from extraction.tools import ExploreTools


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


@dataclass(slots=True)
class WorkerReport:
    """What a worker tells about one attempt besides its candidates.

    ``usage`` counts requests, tokens and whatever else it spent; ``conversation`` is what it and its model said to each
    other, as JSON, already bounded.
    """

    usage: Counter[str] = field(default_factory=Counter)
    conversation: list[dict[str, Any]] = field(default_factory=list)


class ExtractWorker(Protocol):
    """Explores an environment through the tools, stages candidates, and finishes.

    ``run`` returns after ``finish_extraction`` was accepted; returning without it fails the batch. It calls
    ``checkpoint`` between steps, which raises when the run was aborted or its lease is lost. It may raise BatchFailed,
    BatchTooLarge or WorkerUnavailable; a worker that has something to tell besides holds a WorkerReport as ``report``,
    which is kept however the attempt ends.
    """

    name: str
    version: str

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None: ...


_REGISTRY: dict[str, str] = {
    "llm": "extraction.workers.llm:LlmWorker",
    "rules": "extraction.workers.rules:RulesWorker",
}


def register_worker(name: str, path: str) -> None:
    """Add a worker as ``package.module:Class``; its constructor takes no arguments."""
    _REGISTRY[name] = path


def worker_names() -> tuple[str, ...]:
    return tuple(sorted(_REGISTRY))


def get_worker(name: str) -> ExtractWorker:
    """A fresh worker of this name. Raises ValueError naming the known ones, WorkerUnavailable if it is not set up."""
    if name not in _REGISTRY:
        raise ValueError(f"there is no extract worker {name!r}; known: {', '.join(worker_names())}")
    module, _, attribute = _REGISTRY[name].partition(":")
    return getattr(import_module(module), attribute)()
