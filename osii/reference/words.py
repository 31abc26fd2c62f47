"""How texts of the code become Markdown."""

from collections.abc import Sequence


def one_line(text: str) -> str:
    return " ".join(text.split())


def cell(text: str) -> str:
    """A text of one line inside a table, where a bar would end its cell."""
    return one_line(text).replace("|", "\\|")


def row(*cells: str) -> str:
    return f"| {' | '.join(cell(text) for text in cells)} |\n"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table with these heads, which may be empty; nothing without a row."""
    if not rows:
        return ""
    head = row(*heads).replace("|  |", "| |") + "|" + "---|" * len(heads) + "\n"
    return head + "".join(row(*cells) for cells in rows)
