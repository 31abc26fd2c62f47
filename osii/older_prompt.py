"""What `extract_chats --older-prompt` opens: messages whose last reading was under older instructions."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from coverage.words import counted
from extraction.prompts import chats_read_by_older
from extraction.repair import Scope, preview_reread, request_reread

from .console import Command


class OlderPrompt:
    """Releases the coverage of such messages in the given chats, or in every chat; with ``dry_run`` only looks.

    ``chats`` are the ids of those in which there are any.
    """

    def __init__(self, command: Command, chosen: list[UUID] | None, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        act = preview_reread if dry_run else request_reread
        looked_at = chats_read_by_older() if chosen is None else chosen
        effects = {}
        with command.progress("Looking for what was read under an older prompt", total=len(looked_at)) as advance:
            for chat in looked_at:
                effects[chat] = act(chat, Scope(older=True))
                advance(1)
        opened = {chat: effect for chat, effect in effects.items() if effect.releases}
        self.chats = list(opened)
        self.data: dict[str, Any] = {
            "dry_run": dry_run,
            "messages": sum(effect.messages for effect in opened.values()),
            "tokens": sum(effect.tokens for effect in opened.values()),
            "releases": sum(effect.releases for effect in opened.values()),
            "chats": [{"chat_id": str(chat), **asdict(effect)} for chat, effect in opened.items()],
        }

    def lines(self) -> list[str]:
        if not self.chats:
            return ["Nothing was extracted with an older prompt."]
        verb = "would be" if self._dry_run else "will be"
        lines = [
            f"{counted(self.data['messages'], 'message')}, {counted(self.data['tokens'], 'token')}, in {counted(len(self.chats), 'chat')} "
            f"{'was' if self.data['messages'] == 1 else 'were'} "
            f"extracted with an older prompt and {verb} read again."
        ]
        if not self._dry_run:
            lines.append(
                f"{counted(self.data['releases'], 'release was', 'releases were')} appended to the ledger; nothing is deleted."
            )
        return lines
