"""Cutting a text into pieces at the widest boundaries that fit, each with its place in characters."""

from collections.abc import Callable, Iterator

WINDOW = 100_000
"""Characters that are cut at once: in a text without any boundary the splitter's time grows with their square."""


def cut(
    text: str, size: int, overlap: int = 0, step: Callable[[], None] = lambda: None, window: int = WINDOW
) -> Iterator[tuple[int, str]]:
    """(start, piece) in order: blank lines before lines, sentences, words, letters; only white space is left out.

    At most ``size`` characters each, the first ``overlap`` of them at most repeated from the one before. ``window`` is
    larger than ``size``; each window begins where the last piece of the one before did, which is cut anew. ``step`` is
    called before each.
    """
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter(size, overlap=overlap)
    at = 0
    while at < len(text):
        step()
        found = splitter.chunk_indices(text[at : at + window])
        more = at + window < len(text)
        whole = found[:-1] if more and len(found) > 1 else found
        yield from ((at + start, piece) for start, piece in whole)
        at += found[-1][0] if whole is not found else window
