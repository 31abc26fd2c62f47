"""How numbers and titles are put into words, the same way everywhere."""

import unicodedata

UNTITLED = "(no title)"
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Mn", "Me", "Zs", "Zl", "Zp"))
"""Categories of characters that show nothing by themselves."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""What Unicode counts among letters and symbols although nobody sees it."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 chat``, ``1,200 chats``; ``plural`` where it is more than an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def shown_title(title: str, key: object = "") -> str:
    """The title, or where it has nothing that can be seen "(no title)" and the key, so that a link of it can be followed."""
    if any(unicodedata.category(one) not in _UNSEEN and one not in _BLANK_LETTERS for one in title):
        return title
    return f"{UNTITLED} {key}".rstrip()
