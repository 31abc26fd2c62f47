"""Propositions: what a document states, read into its learner's graph by the workers that read chats."""

from collections.abc import Mapping
from typing import Any

from extraction.documents import reading
from extraction.llm import prompt
from extraction.llm.choice import choose
from extraction.sources import NoLearner
from extraction.workers import BatchFailed, WorkerUnavailable, worker_class

from .base import LEARNER, TEXT, Made, Method, Option, OutputFailed, Source
from .models import OutputKind


class _Worker(Method):
    """One extract worker. The output holds the sums; candidates, resolutions and evidence have tables of their own."""

    kind = OutputKind.PROPOSITIONS
    needs = (TEXT, LEARNER)

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        document = source.document
        if document.learner_id is None:
            raise OutputFailed("no_learner", "the document has no learner, so there is no graph that it could feed")
        model = str(options.get("model", ""))
        try:
            found = reading.read(document, source.extraction.pk, source.text, self.name, model, source.checkpoint)
        except BatchFailed as error:
            raise OutputFailed("worker_failed", str(error)) from error
        except WorkerUnavailable as error:
            raise OutputFailed("worker_unavailable", str(error)) from error
        except reading.DayIsSpent as error:
            raise OutputFailed("daily_cap", str(error)) from error
        except NoLearner as error:
            raise OutputFailed("no_learner", str(error)) from error
        counts = {"pieces": found.pieces, "batches": found.batches, "candidates": found.staged, **found.outcomes}
        return Made(counts=counts, content={"learner": document.learner.name, "outcomes": dict(found.outcomes)})


class ByRules(_Worker):
    name = "rules"
    version = worker_class("rules").version
    label = "Claims by rules (offline)"


class ByModel(_Worker):
    name = "llm"
    version = "llm-1"
    label = "Claims by a language model"
    options = {"model": Option("", "Name of the model; empty is the default one.")}

    def ready(self, options: Mapping[str, Any]) -> str:
        try:
            return choose(str(options.get("model", ""))).missing()
        except WorkerUnavailable as error:
            return str(error)

    def prompt_version(self, options: Mapping[str, Any]) -> str:
        chosen = choose(str(options.get("model", "")))
        return f"{prompt.VERSION}+document-{reading.FRAME}/{prompt.content_hash()[:8]}/{chosen.model}"[:120]
