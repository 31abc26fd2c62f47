"""Cutting a document into chunks with their places and languages, beside the splitter alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from osii.library.base import Made
from osii.library.chunking import Sentences

from .measure import Case, compare
from .result import Result

SAMPLE = Path(__file__).resolve().parents[1] / "osii" / "samples" / "documents" / "describing-data.md"
SIZES = {100_000: 9, 1_000_000: 5}  # characters: rounds
SEGMENT = 500
OPTIONS = {"chunk_size": 800, "chunk_overlap": 100}


class Text:
    """What a chunker is given of a version: its text, its segments in order, its language."""

    language = None

    def __init__(self, text: str) -> None:
        self.text = text
        self.segments: list[Mapping[str, Any]] = [
            {"id": f"s{start}", "page": None, "span": {"char_start": start, "char_end": start + SEGMENT}}
            for start in range(0, len(text), SEGMENT)
        ]

    def checkpoint(self) -> None:
        """Nothing stops this work."""


def run() -> list[Result]:
    return compare("chunking", SIZES, _case, unit="MB/s")


def _case(count: int) -> Case:
    from semantic_text_splitter import TextSplitter

    sample = SAMPLE.read_text(encoding="utf-8")
    text = (sample * (count // len(sample) + 1))[:count]
    source, method = Text(text), Sentences()
    splitter = TextSplitter(OPTIONS["chunk_size"], overlap=OPTIONS["chunk_overlap"])

    def cut() -> Made:
        made = method.make(source, OPTIONS)
        if not made.pieces or any(text[piece.start : piece.end] != piece.text for piece in made.pieces[:3]):
            raise RuntimeError("a chunk is not at its place: the chunking benchmark is void")
        return made

    return Case(
        ours=cut,
        limit=("reading the words once", text.split),
        rivals={"semantic-text-splitter alone": lambda: splitter.chunk_indices(text)},
        amount=count / 1e6,
        name=f"{count / 1e6:g} MB",
    )
