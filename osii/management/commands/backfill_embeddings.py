"""Vectors for what has none, and the move to another embedder."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from coverage.words import counted
from graphctx import approximate
from graphctx.embedders import REGISTRY, EmbedderSpec, EmbeddingError
from graphctx.embedding import active_space, get_embedder, space_of
from graphctx.models import EmbeddingSpace, Proposition
from graphctx.vectors import Backfill, activate, backfill, missing_vectors, old_spaces, remove_vectors
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Give every live proposition its vector. When OSII_EMBEDDER has changed, a new space is filled beside the "
        "active one, which stays in use until the new one is full; then it is switched. A run that was interrupted "
        "goes on where it was. --remove-old then removes what the former spaces hold."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--space",
            metavar="NAME",
            help=f"fill the space of another embedder ahead of a change, without switching: {', '.join(REGISTRY)}",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
        parser.add_argument(
            "--remove-old",
            action="store_true",
            help="show which spaces are not in use any more and how many vectors they hold (with --space: of that name), "
            "and with --yes remove these vectors",
        )
        parser.add_argument("--yes", action="store_true", help="remove what --remove-old shows")
        parser.add_argument(
            "--build-index",
            action="store_true",
            help="make an index of the active space, which answers for learners of more than OSII_GRAPH_EXACT_VECTORS",
        )

    def run(self, **options: Any) -> None:
        if options["yes"] and not options["remove_old"]:
            self.fail("--yes belongs to --remove-old")
        if options["remove_old"]:
            return self._remove_old(options["space"], really=options["yes"] and not options["dry_run"])
        if options["build_index"]:
            return self._build_index()
        return self._embed(options)

    def _remove_old(self, name: str | None, *, really: bool) -> None:
        spaces = [space for space in old_spaces() if name in (None, space.name)]
        for space in spaces if really else []:
            with self.progress(f"Removing the vectors of {space.name}", total=space.held) as advance:
                remove_vectors(space, advance)
        shown = [
            {"space": space.name, "model": space.model, "revision": space.revision, "dimension": space.dimension,
             "made": space.created_at, "vectors": space.held}
            for space in spaces
        ]  # fmt: skip
        self.result({"old": shown, "removed": really and bool(shown)}, _render_old)

    def _build_index(self) -> None:
        try:
            space = active_space()
            self.note(f"Making the index of {space.name} beside everything else that goes on …")
            made = approximate.build_index(space)
        except (EmbeddingError, ValueError) as error:
            self.fail(str(error))
        state = "is made" if made else "is there already"
        self.result({"space": space.name, "made": made}, lambda data: f"The index of {data['space']} {state}.")

    def _embed(self, options: dict[str, Any]) -> None:
        name = options["space"] or settings.OSII_EMBEDDER
        try:
            embedder = get_embedder(name)
            data = _plan(embedder.spec) if options["dry_run"] else self._fill(embedder)
        except EmbeddingError as error:
            self.fail(str(error))
        self.result(data, _render)
        if data["unusable"]:
            self.fail(f"no usable vector for {_count(len(data['unusable']))}; retrieval leaves them out")

    def _fill(self, embedder: Any) -> dict[str, Any]:
        space = space_of(embedder.spec)
        missing = missing_vectors(space).count()
        done = Backfill()
        if missing:
            with self.progress(f"Embedding with {embedder.spec.model}", total=missing) as advance:
                done = backfill(space, advance, embedder=embedder)
        configured = embedder.spec.name == settings.OSII_EMBEDDER
        switched = activate(space) if configured else False
        space.refresh_from_db()
        return {
            **_describe(embedder.spec),
            "missing": missing,
            "added": done.added,
            "unusable": [{"proposition_id": str(key), "reason": why} for key, why in done.unusable.items()],
            "active": space.active,
            "switched": switched,
            "dry_run": False,
        }


def _describe(spec: EmbedderSpec) -> dict[str, Any]:
    return {"space": spec.name, "model": spec.model, "revision": spec.revision, "dimension": spec.dimension}


def _plan(spec: EmbedderSpec) -> dict[str, Any]:
    space = EmbeddingSpace.objects.filter(stamp=spec.stamp).first()
    missing = missing_vectors(space) if space else Proposition.objects.filter(state=Proposition.State.LIVE)
    active = bool(space and space.active)
    return {
        **_describe(spec),
        "missing": missing.count(),
        "added": 0,
        "unusable": [],
        "active": active,
        "switched": not active and spec.name == settings.OSII_EMBEDDER,
        "dry_run": True,
    }


def _render_old(data: dict[str, Any]) -> list[str]:
    if not data["old"]:
        return ["No space but the active one holds vectors."]
    lines = [
        f"{row['space']} ({row['model']}, revision {row['revision'] or 'not named'}, {row['dimension']} dimensions, made "
        f"{row['made']:%Y-%m-%d}): {row['vectors']:,} vectors"
        for row in data["old"]
    ]
    if data["removed"]:
        return [*lines, "They are removed. To go back to such a space is to embed everything again."]
    return [*lines, "Nothing is removed yet: run it again with --yes. Without them there is no quick way back."]


def _count(number: int) -> str:
    return counted(number, "proposition")


def _render(data: dict[str, Any]) -> list[str]:
    where = f"{data['space']} ({data['model']}, {data['dimension']} dimensions)"
    if data["dry_run"]:
        lines = [f"Would embed {_count(data['missing'])} into {where}."]
        if data["switched"]:
            lines.append("Would then make it the active space.")
        return lines
    lines = [f"Embedded {_count(data['added'])} into {where}."]
    if not data["missing"]:
        lines = [f"Nothing to embed: every live proposition has its vector in {where}."]
    lines += [f"No vector for {row['proposition_id']}: {row['reason']}" for row in data["unusable"]]
    if data["switched"]:
        lines.append("It is the active space now; restart web and workers that run with another OSII_EMBEDDER.")
    elif not data["active"]:
        lines.append(
            f"It stays beside the active space until OSII_EMBEDDER={data['space']} is set and this runs again."
        )
    return lines
