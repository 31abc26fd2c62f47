"""What was read and what was not."""

from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from coverage.models import Chat
from coverage.words import counted, shown_title
from extraction.selectors import STATES, chat_coverage, coverage_of_chats
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = "Show what has been read of each chat, or of each message of one chat."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--chat", metavar="ID", help="one chat, message by message")

    def run(self, **options: Any) -> None:
        if options["chat"]:
            self.result(chat_coverage(self._chat_id(options["chat"])), _render_chat)
        else:
            self.result({"chats": coverage_of_chats()}, _render_chats)

    def _chat_id(self, text: str) -> UUID:
        try:
            chat_id = UUID(text)
        except ValueError:
            self.fail(f"{text!r} is not a chat id; coverage_report without --chat lists them")
        if not Chat.objects.filter(pk=chat_id).exists():
            self.fail(f"there is no chat {chat_id}; coverage_report without --chat lists them")
        return chat_id


def fraction(row: dict[str, Any]) -> str:
    """Covered of total tokens with the share: ``1,240 of 5,800 tokens (21 %)``."""
    total, covered = row["total_tokens"], row["covered_tokens"]
    share = 100 if not total else covered * 100 // total
    return f"{covered:,} of {total:,} tokens ({share} %)"


def _render_chats(data: dict[str, Any]) -> list[str]:
    if not data["chats"]:
        return ["No chats yet. Add some with import_chats PATH."]
    lines = []
    for row in data["chats"]:
        notes = ["due"] if row["due"] else []
        notes += [f"{row['parked_tokens']:,} tokens parked"] if row["parked_tokens"] else []
        lines.append(f"{row['chat_id']}  {fraction(row)}{'  [' + ', '.join(notes) + ']' if notes else ''}")
        lines.append(f"    {shown_title(row['title'])} · {row['learner']} · {row['message_count']} messages")
    total = {key: sum(row[key] for row in data["chats"]) for key in ("total_tokens", "covered_tokens")}
    lines.append(f"{counted(len(data['chats']), 'chat')}: {fraction(total)} read.")
    return lines


def _render_chat(data: dict[str, Any]) -> list[str]:
    lines = [f"{data['chat_id']}: {fraction(data)} read{', due' if data['due'] else ''}"]
    for message in data["messages"]:
        lines.append(
            f"  {message['position']:>5}  {message['role']:<9}  {message['tokens']:>7,}  {message['state']:<9}  {message['id']}"
        )
    counts = {state: sum(m["state"] == state for m in data["messages"]) for state in STATES}
    lines.append("  " + ", ".join(f"{count} {state}" for state, count in counts.items() if count))
    return lines
