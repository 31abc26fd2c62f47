"""Make an extraction version the one in force for its document."""

import getpass
import os
from typing import Any

from django.core.management.base import CommandParser

from coverage.view import MalformedParts, check_storable
from extraction.documents import services
from extraction.documents.errors import DocumentError
from extraction.documents.ids import check_file_id
from extraction.models import Document
from osii.console import Command as OsiiCommand

NONE = "none"


class Command(OsiiCommand):
    help = (
        "Make a preserved extraction version the primary of its document. The former primary stays as a version; what "
        "was made from it becomes stale. The move is recorded, and can be taken back by promoting the former one."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file_id", metavar="FILE_ID", help="sha256-…")
        parser.add_argument("extraction_id", metavar="EXTRACTION_ID", help="a succeeded version of this document")
        parser.add_argument("--reason", default="", help="kept with the record of the move")
        parser.add_argument(
            "--expect",
            metavar="PRIMARY_ID",
            help=f'go on only if this version is primary now ("{NONE}": only if there is none)',
        )

    def run(self, **options: Any) -> None:
        file_id, extraction_id, expected = options["file_id"], options["extraction_id"], options["expect"]
        try:
            check_storable(options["reason"], "--reason")
            document = Document.objects.filter(pk=check_file_id(file_id)).first()
            promotion = services.promote(
                file_id,
                extraction_id,
                actor=f"command:{_user()}",
                reason=options["reason"],
                expected_primary=... if expected is None else None if expected == NONE else expected,
            )
        except (DocumentError, MalformedParts) as error:
            self.fail(str(error))
        data = {
            "file_id": file_id,
            "before": promotion.before_id,
            "after": promotion.after_id,
            "changed": document is not None and document.primary_id != extraction_id,
            "actor": promotion.actor,
            "reason": promotion.reason,
            "created_at": promotion.created_at,
        }
        self.result(data, _render)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())  # a container may run under a number without a name


def _render(data: dict[str, Any]) -> str:
    if not data["changed"]:
        return f"{data['after']} was the primary of {data['file_id']} already; nothing changed."
    former = f"{data['before']} is kept as a version" if data["before"] else "there was none before"
    return f"{data['after']} is now the primary of {data['file_id']}; {former}."
