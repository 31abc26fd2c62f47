"""Make an extraction version the one in force for its document."""

from types import EllipsisType
from typing import Any

from django.core.management.base import CommandParser

from coverage.view import MalformedParts, check_storable
from extraction.documents import services
from extraction.documents.errors import DocumentError
from extraction.documents.ids import check_file_id
from extraction.models import Document, ExtractionVersion
from osii.actors import command_actor
from osii.console import Command as OsiiCommand

NONE = "none"


class Command(OsiiCommand):
    help = (
        "Make a preserved extraction version the primary of its document. The former primary stays as a version; what "
        "was made from it becomes stale. The move is recorded. --take-back instead of a version takes the last move "
        "back; again, the one before it."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file_id", metavar="FILE_ID", help="sha256-…")
        parser.add_argument(
            "extraction_id", nargs="?", metavar="EXTRACTION_ID", help="a succeeded version of this document"
        )
        parser.add_argument("--take-back", action="store_true", help="return to the version that was primary before")
        parser.add_argument("--reason", default="", help="kept with the record of the move")
        parser.add_argument(
            "--expect",
            metavar="PRIMARY_ID",
            help=f'go on only if this version is primary now ("{NONE}": only if there is none)',
        )

    def run(self, **options: Any) -> None:
        file_id, extraction_id = options["file_id"], options["extraction_id"]
        if options["take_back"] and extraction_id is not None:
            self.fail("name the version to promote or --take-back, not both")
        try:
            check_storable(options["reason"], "--reason")
            document = Document.objects.filter(pk=check_file_id(file_id)).first()
            if extraction_id is None and not options["take_back"]:
                self.fail(f"name the version to promote, or --take-back. {_choices(document)}")
            how = {
                "actor": command_actor(),
                "reason": options["reason"],
                "expected_primary": _expected(options["expect"]),
            }
            if options["take_back"]:
                promotion = services.rollback(file_id, **how)
            else:
                promotion = services.promote(file_id, extraction_id, **how)
        except (DocumentError, MalformedParts) as error:
            self.fail(str(error))
        data = {
            "file_id": file_id,
            "before": promotion.before_id,
            "after": promotion.after_id,
            "changed": document is not None and document.primary_id != promotion.after_id,
            "actor": promotion.actor,
            "reason": promotion.reason,
            "created_at": promotion.created_at,
        }
        self.result(data, _render)


def _choices(document: Document | None) -> str:
    if document is None:
        return "There is no such document."
    versions = document.versions.filter(status=ExtractionVersion.Status.SUCCEEDED).order_by("created_at", "pk")
    names = [f"{pk} (primary)" if pk == document.primary_id else pk for pk in versions.values_list("pk", flat=True)]
    return f"Versions that can be: {', '.join(names)}." if names else "It has no succeeded version."


def _expected(given: str | None) -> str | EllipsisType | None:
    return ... if given is None else None if given == NONE else given


def _render(data: dict[str, Any]) -> str:
    if not data["changed"]:
        return f"{data['after']} was the primary of {data['file_id']} already; nothing changed."
    former = f"{data['before']} is kept as a version" if data["before"] else "there was none before"
    return f"{data['after']} is now the primary of {data['file_id']}; {former}."
