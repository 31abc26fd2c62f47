"""What a new chat on a topic would be given."""

import time
from itertools import groupby
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from coverage.models import GRAPH_CONTEXT_DEFAULT, GRAPH_CONTEXT_MAX_TOKENS, GRAPH_CONTEXT_STEP, Learner
from coverage.view import MalformedParts, check_storable
from coverage.words import counted
from graphctx.embedding import EmbeddingError, active_space, get_embedder
from graphctx.models import Level
from graphctx.selection import Selection, check_budget, select
from graphctx.vectors import missing_vectors
from osii.console import Command as OsiiCommand
from osii.propositions import level_histories

NAMES_SHOWN = 20
CHANGES_SHOWN = 3
"""The latest changes of a proposition's level in the table; --json has more."""


class Command(OsiiCommand):
    help = "Print the block of prior knowledge that a new chat on TOPIC would be given, with its numbers."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("topic", nargs="*", metavar="TOPIC", help="what the chat would be about")
        parser.add_argument("--learner", metavar="NAME", help="whose knowledge; not needed while there is one learner")
        parser.add_argument(
            "--budget",
            metavar="TOKENS",
            default=str(GRAPH_CONTEXT_DEFAULT),
            help=f"0 to {GRAPH_CONTEXT_MAX_TOKENS} in steps of {GRAPH_CONTEXT_STEP}, default {GRAPH_CONTEXT_DEFAULT}",
        )
        parser.add_argument(
            "--explain",
            action="store_true",
            help="also the ranked candidates with their levels over time, where the budget cut, and the times",
        )

    def run(self, **options: Any) -> None:
        topic = " ".join(options["topic"]).strip()
        if not topic:
            self.fail('the topic is empty; say what the chat would be about: context "How do tides work?"')
        budget = self._budget(options["budget"])
        learner = self._learner(options["learner"])
        try:
            space = active_space()
            loading = self._warm_up() if budget else 0.0
            selection = select(learner, topic, budget)
        except EmbeddingError as error:
            self.fail(str(error))
        missing = missing_vectors(space).filter(learner=learner).count()
        if missing and selection.count:
            self.note(f"Propositions of {learner.name} without a vector yet: {missing}. Run backfill_embeddings.")
        data = selection.explain() if options["explain"] else selection.to_dict()
        if options["explain"]:
            data["timings_ms"] = {"model": round(loading, 3), **data["timings_ms"]}
            _add_levels(data["candidates"])
        self.result(data, lambda shown: _render(shown, selection, learner))

    def _budget(self, text: str) -> int:
        try:
            return check_budget(int(text))
        except ValueError as error:
            self.fail(str(error) if text.lstrip("+-").isdecimal() else f"the budget {text!r} is not a whole number")

    def _learner(self, name: str | None) -> Learner:
        """The learner of this name, or the only one there is."""
        if name is not None:
            try:
                check_storable(name, "--learner")
            except MalformedParts as error:
                self.fail(str(error))
            found = Learner.objects.filter(name=name).first()
            return found or self.fail(f"there is no learner {name!r}; {_names()}")
        learners = list(Learner.objects.all()[:2])
        if not learners:
            self.fail("there is no learner yet: import_chats makes one")
        if len(learners) > 1:
            self.fail(f"whose knowledge? Say --learner NAME; {_names()}")
        return learners[0]

    def _warm_up(self) -> float:
        """Load the model now, so that the times shown are those of a warm process; returns milliseconds."""
        begun = time.perf_counter()
        get_embedder().warm()
        return (time.perf_counter() - begun) * 1000


def _names() -> str:
    names = list(Learner.objects.order_by("name").values_list("name", flat=True)[: NAMES_SHOWN + 1])
    if not names:
        return "there are none yet: import_chats makes one"
    more = ", …" if len(names) > NAMES_SHOWN else ""
    return f"there are: {', '.join(repr(name) for name in names[:NAMES_SHOWN])}{more}"


def _add_levels(candidates: list[dict[str, Any]]) -> None:
    """Give each candidate its ``levels`` over time, the oldest first; the last of them is its level."""
    histories = level_histories(UUID(row["proposition_id"]) for row in candidates)
    for row in candidates:
        levels = histories.get(UUID(row["proposition_id"]), [])
        row["levels"] = [{"level": level, "at": at.isoformat()} for level, at in levels]


def _render(data: dict[str, Any], selection: Selection, learner: Learner) -> list[str]:
    if data["count"]:
        lines = [data["block"], ""]
        count = counted(data["count"], "proposition")
        lines.append(f"{count}, {data['tokens']:,} of {data['budget']:,} tokens, for {learner.name}")
    else:
        lines = [f"No context for {learner.name}: {selection.reason}."]
    if "candidates" in data:
        lines += _explanation(data)
    return lines


def _explanation(data: dict[str, Any]) -> list[str]:
    paths = [_path(row["levels"]) for row in data["candidates"]]
    width = max([len("levels over time"), *map(len, paths)])
    lines = ["", f"rank  in  similarity  tokens  {'levels over time':<{width}}  proposition"]
    for row, path in zip(data["candidates"], paths, strict=True):
        mark = "yes" if row["included"] else "no"
        lines.append(
            f"{row['rank']:>4}  {mark:<3}     {row['similarity']:>+.4f}  {row['tokens']:>6}  {path:<{width}}  {row['text']}"
        )
    lines += ["", f"The end: {data['reason']}."]
    if data["space"]:
        lines.append(f"Space: {data['space']['name']}, {data['space']['dimension']} dimensions.")
    lines.append("Times: " + ", ".join(f"{stage} {ms:,.1f} ms" for stage, ms in data["timings_ms"].items()) + ".")
    return lines


def _path(levels: list[dict[str, str]]) -> str:
    """The levels from the oldest to the latest, each change once: "shaky > solid"."""
    changes = [level for level, _run in groupby(Level(row["level"]).label for row in levels)]
    return " > ".join(changes[-CHANGES_SHOWN:])
