"""Have messages of a chat read again: a message, a range of positions, or all of it."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from coverage.words import counted
from extraction.repair import Scope, preview_reread, request_reread
from osii.chats import find_chat
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Have messages of a chat read again. Their coverage is released, nothing is deleted; the next run reads them, "
        "for example `extract_chats --chat ID --rest`. Without --from, --to or --message: the whole chat."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--chat", metavar="ID", required=True)
        parser.add_argument("--from", metavar="N", type=int, dest="first", help="first position, from 1")
        parser.add_argument("--to", metavar="N", type=int, dest="last", help="last position")
        parser.add_argument("--message", metavar="ID", dest="message_id", help="one message, by its id")
        parser.add_argument("--dry-run", action="store_true", help="say what would be read again, and release nothing")

    def run(self, **options: Any) -> None:
        scope = Scope(options["first"], options["last"], options["message_id"])
        dry = options["dry_run"]
        chat = find_chat(self, options["chat"])
        try:
            effect = (preview_reread if dry else request_reread)(chat.pk, scope)
        except ValueError as error:
            self.fail(str(error))
        self.result({"chat_id": str(chat.pk), "dry_run": dry, **asdict(effect)}, _render)


def _render(data: dict[str, Any]) -> list[str]:
    if not data["releases"]:
        waiting = (
            f" {counted(data['waiting'], 'message waits', 'messages wait')} to be read anyway."
            if data["waiting"]
            else ""
        )
        return [f"Nothing to release: none of this is covered.{waiting}"]
    verb = "would be" if data["dry_run"] else "will be"
    lines = [
        f"{counted(data['messages'], 'message')}, {counted(data['tokens'], 'token')}, {verb} read again by the next run."
    ]
    if data["copies"]:
        lines.append(f"{data['copies']} of them are copies, outside what you named: equal messages open together.")
    if not data["dry_run"]:
        lines.append(f"{counted(data['releases'], 'line was', 'lines were')} appended to the ledger.")
    return lines
