"""Workers for tests, each driving the product's own tools."""

from collections.abc import Callable
from typing import Any

from extraction.exploring.tools import ExploreTools


class SentenceWorker:
    """Stages each message's first line as a fact, quoted verbatim."""

    name = "sentences"
    version = "sentences-1"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        staged = set()
        for line in overview["overview"]:
            checkpoint()
            claim = line["text"].splitlines()[0]
            if line["context"]:
                continue
            made = tools.stage_candidate(
                kind="fact",
                claim=claim,
                why_useful="the test wants it",
                evidence_ids=[line["evidence_id"]],
                understanding="solid" if line["speaker"] == "user" else "not_yet_engaged",
                quote=claim,
            )
            staged.add(made["candidate_id"])
        tools.finish_extraction(len(staged), "read everything" if staged else "nothing to keep")


class NeverFinishes(SentenceWorker):
    """Stages like its parent but returns without finish."""

    name = "never-finishes"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        tools.finish_extraction = lambda *_args: {}  # type: ignore[method-assign]
        super().run(overview, tools, checkpoint)


class FailsOnPoison(SentenceWorker):
    """Breaks on any batch that holds the word poison."""

    name = "fails-on-poison"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        if any("poison" in line["text"] for line in overview["overview"] if not line["context"]):
            raise RuntimeError("the model choked")
        super().run(overview, tools, checkpoint)


class FindsNothing:
    """Finishes with no candidate and a reason."""

    name = "finds-nothing"
    version = "1"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        tools.finish_extraction(0, "only small talk")


WORKERS = (SentenceWorker, NeverFinishes, FailsOnPoison, FindsNothing)
