"""Remove what was learned from a chat, and say what becomes of its coverage."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from coverage.words import counted
from extraction.repair import COVERAGE_CHOICES, KEEP, preview_purge, purge_chat
from osii.chats import find_chat
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Remove a chat's evidence from the graph, with every proposition that has no other. The chat stays. With "
        "--coverage keep nothing of it is read again; with --coverage reset the next run reads all of it."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--chat", metavar="ID", required=True)
        parser.add_argument("--coverage", choices=COVERAGE_CHOICES, required=True)
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")

    def run(self, **options: Any) -> None:
        chat = find_chat(self, options["chat"])
        dry, coverage = options["dry_run"], options["coverage"]
        try:
            effect = preview_purge(chat.pk) if dry else purge_chat(chat.pk, coverage)
        except ValueError as error:
            self.fail(str(error))
        data = {
            "chat_id": str(chat.pk),
            "dry_run": dry,
            "coverage": coverage,
            "instances": effect.instances,
            "propositions": asdict(effect.fate),
            "reread": None if coverage == KEEP else asdict(effect.reread),
        }
        self.result(data, _render)


def _render(data: dict[str, Any]) -> list[str]:
    fate, dry = data["propositions"], data["dry_run"]
    lines = [
        f"{'Would remove' if dry else 'Removed'} {counted(data['instances'], 'piece')} of evidence and "
        f"{counted(fate['removed'], 'proposition')}; {fate['kept']} stand on other evidence, {fate['out_of_retrieval']} have none that is live, "
        f"{fate['forgotten']} forgotten stay forgotten."
    ]
    if data["reread"] is None:
        lines.append(
            "Coverage is kept: nothing of this chat is read again until it changes or reread_chat asks for it."
        )
    else:
        verb = "would be" if dry else "is"
        lines.append(
            f"Coverage {verb} reset: {counted(data['reread']['messages'], 'message')}, {counted(data['reread']['tokens'], 'token')}, to be read "
            "by the next run."
        )
    return lines
