"""Extract workers: whatever drives the four tools over an environment."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from extraction.tools import ExploreTools


class ExtractWorker(Protocol):
    """Explores an environment through the tools, stages candidates, and finishes.

    ``run`` returns after ``finish_extraction`` was accepted; returning without it fails the batch. It calls
    ``checkpoint`` between steps, which raises when the run was aborted or its lease is lost.
    """

    name: str
    version: str

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None: ...


_REGISTRY: dict[str, str] = {"rules": "extraction.workers.rules:RulesWorker"}


def register_worker(name: str, path: str) -> None:
    """Add a worker as ``package.module:Class``; its constructor takes no arguments."""
    _REGISTRY[name] = path


def worker_names() -> tuple[str, ...]:
    return tuple(sorted(_REGISTRY))


def get_worker(name: str) -> ExtractWorker:
    """A fresh worker of this name. Raises ValueError naming the known ones."""
    if name not in _REGISTRY:
        raise ValueError(f"there is no extract worker {name!r}; known: {', '.join(worker_names())}")
    module, _, attribute = _REGISTRY[name].partition(":")
    return getattr(import_module(module), attribute)()
