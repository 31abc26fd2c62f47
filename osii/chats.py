"""Finding the chat that a command names."""

from uuid import UUID

from coverage.models import Chat

from .console import Command


def find_chat(command: Command, text: str) -> Chat:
    """The chat with this id; ends the command with one line when there is none."""
    try:
        return Chat.objects.get(pk=UUID(text))
    except ValueError:
        command.fail(f"{text!r} is not a chat id; coverage_report lists them")
    except Chat.DoesNotExist:
        command.fail(f"there is no chat {text}; coverage_report lists them")
