"""Numbers with their nouns, the same way everywhere outside of templates."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 chat``, ``1,200 chats``; ``plural`` where it is more than an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
