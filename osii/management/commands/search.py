"""Search in the texts of documents."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from graphctx.embedding import EmbeddingError, active_space
from osii.console import Command as OsiiCommand
from osii.library.requests import BadRequest
from osii.library.search import extensions, find, semantic

FLAGS = {"query": "the query", "mode": "--mode", "top_k": "--top"}


class Command(OsiiCommand):
    help = "Print the passages of documents that are found for a QUERY, best first, with their page and place."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query", nargs="*", metavar="QUERY", help='words, "a phrase", or, -excluded')
        parser.add_argument("--mode", default=find.HYBRID, choices=find.MODES, help="default: hybrid")
        parser.add_argument(
            "--top", type=int, default=find.RESULTS, metavar="N", help=f"at most so many (1 to {find.MAX_RESULTS})"
        )
        parser.add_argument("--learner", metavar="NAME", help="only documents of this learner")
        parser.add_argument("--collection", metavar="NAME", help="only documents of this collection (name or id)")
        parser.add_argument("--folder", metavar="PATH", help="only documents that were seen below this folder")
        parser.add_argument("--document", action="append", default=[], metavar="FILE_ID", help="only this document")
        parser.add_argument("--type", action="append", default=[], metavar="PATTERN", help="media types: text/*")
        parser.add_argument("--name", action="append", default=[], metavar="PATTERN", help="file names: *.md")
        parser.add_argument(
            "--build-index",
            action="store_true",
            help="make what is missing of the indexes: of the active space's vectors, and by extensions that were added",
        )

    def run(self, **options: Any) -> None:
        if options["build_index"]:
            self._build_index()
            return
        scope = {
            "learner": options["learner"],
            "collection": options["collection"],
            "folder": options["folder"],
            "file_ids": options["document"],
            "types": options["type"],
            "names": options["name"],
        }
        given = {name: value for name, value in scope.items() if value not in (None, [])}
        text = " ".join(options["query"])
        try:
            found = find.search(text, options["mode"], options["top"], given)
            missing = 0 if found.results else find.without_chunks(find.scope_of(given))
        except BadRequest as error:
            place = FLAGS.get(error.field, error.field)
            self.fail(f"{place}: {error}" if place else str(error))
        except EmbeddingError as error:
            self.fail(f"no search by meaning is possible now: {error}")
        for line in found.notes:
            self.note(line)
        if missing:
            self.note(
                f"Documents with a text that have no current chunks: {missing}. `manage.py process_library` makes them."
            )
        self.result(found.to_dict(), _render)

    def _build_index(self) -> None:
        try:
            space = active_space()
            used = extensions.apply()
            self.note(f"Making the index of {space.name} …")
            made = semantic.build_index(space)
        except (EmbeddingError, ValueError) as error:
            self.fail(str(error))
        data = {"space": space.name, "index": semantic.name(space), "made": made, "extensions": used}
        self.result(data, _render_index)


def _render_index(data: dict[str, Any]) -> Iterator[str]:
    yield f"{data['index']}: {'made' if data['made'] else 'was there already'}"
    for name in data["extensions"]:
        yield f"{name}: used from now on"


def _render(data: dict[str, Any]) -> Iterator[str]:
    if not data["results"]:
        yield "Nothing was found."
    for one in data["results"]:
        page = f", page {one['page']}" if one["page"] else ""
        yield f"{one['score']:.4f}  {one['filename']}{page}, {one['char_start']}–{one['char_end']}  {one['file_id']}"
        yield f"        {one['snippet']}"
