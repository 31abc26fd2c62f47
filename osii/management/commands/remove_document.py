"""Erase documents from the library for good."""

from typing import Any

from django.core.management.base import CommandParser

from coverage.view import MalformedParts, check_storable
from coverage.words import counted
from extraction.documents import services
from extraction.documents.errors import DocumentError, UnknownDocument
from extraction.documents.ids import check_file_id
from extraction.models import Document
from osii.actors import command_actor
from osii.console import Command as OsiiCommand
from osii.library import removing


class Command(OsiiCommand):
    help = (
        "Erase documents for good: the kept bytes, every extraction version, the outputs made from them, and the "
        "evidence read from them with each proposition that has no other. What was removed is recorded. The file that "
        "was added stays where it is."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file_ids", nargs="+", metavar="FILE_ID", help="sha256-…")
        parser.add_argument("--reason", default="", help="kept with the record")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")

    def run(self, **options: Any) -> None:
        done: list[dict[str, Any]] = []
        try:
            check_storable(options["reason"], "--reason")
            documents = [self._find(file_id) for file_id in dict.fromkeys(options["file_ids"])]
            for document in documents:
                if options["dry_run"]:
                    done.append(removing.preview(document).to_dict())
                else:
                    removal = services.remove_document(document.pk, command_actor(), options["reason"])
                    done.append({"file_id": removal.file_id, "filename": removal.filename, "counts": removal.counts})
        except (DocumentError, MalformedParts) as error:
            self.fail(f"{error}" + (f" ({counted(len(done), 'document')} removed before)" if done else ""))
        self.result({"dry_run": options["dry_run"], "documents": done}, _render)

    def _find(self, file_id: str) -> Document:
        document = Document.objects.filter(pk=check_file_id(file_id)).first()
        if document is None:
            raise UnknownDocument(file_id)
        return document


def _render(data: dict[str, Any]) -> list[str]:
    verb = "would remove" if data["dry_run"] else "removed"
    lines = []
    for row in data["documents"]:
        counts = ", ".join(f"{count:,} {name}" for name, count in row["counts"].items() if count)
        lines.append(f"{verb} {row['filename']}  {row['file_id']}" + (f"  ({counts})" if counts else ""))
    return lines
