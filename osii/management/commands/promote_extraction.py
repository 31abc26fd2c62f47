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
from osii.models import Output

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
        parser.add_argument("--dry-run", action="store_true", help="say what would happen and change nothing")
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
            expected = _expected(options["expect"])
            foreseen = services.foresee(file_id, extraction_id, expected)
            if options["dry_run"]:
                return self.result(_effect(file_id, *foreseen) | {"dry_run": True}, _render)
            how = {"actor": command_actor(), "reason": options["reason"], "expected_primary": expected}
            if options["take_back"]:
                promotion = services.rollback(file_id, **how)
            else:
                promotion = services.promote(file_id, extraction_id, **how)
        except (DocumentError, MalformedParts) as error:
            self.fail(str(error))
        moved = document is not None and document.primary_id != promotion.after_id
        before = promotion.before_id if moved else promotion.after_id
        data = _effect(file_id, before, promotion.after_id) | {
            "before": promotion.before_id,
            "dry_run": False,
            "actor": promotion.actor,
            "reason": promotion.reason,
            "created_at": promotion.created_at,
        }
        return self.result(data, _render)


def _effect(file_id: str, before: str | None, after: str) -> dict[str, Any]:
    """What a move does; ``stale_outputs`` were made of the version before, ``current_again`` of the one after."""
    made = Output.objects.filter(document=file_id, status=Output.Status.SUCCEEDED)
    changed = before != after
    return {
        "file_id": file_id,
        "before": before,
        "after": after,
        "changed": changed,
        "stale_outputs": made.filter(source_extraction=before).count() if changed and before else 0,
        "current_again": made.filter(source_extraction=after).count() if changed else 0,
    }


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
        return f"{data['after']} {'is' if data['dry_run'] else 'was'} the primary of {data['file_id']} already; nothing changed."
    former = f"{data['before']} is kept as a version" if data["before"] else "there was none before"
    would = "would become" if data["dry_run"] else "is now"
    told = f"{data['after']} {would} the primary of {data['file_id']}; {former}."
    if data["stale_outputs"]:
        told += f" Outputs that become stale: {data['stale_outputs']}."
    if data["current_again"]:
        told += f" Outputs of it that are used again: {data['current_again']}."
    return told
