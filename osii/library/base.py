"""What a method is: how one kind of output is made of a document's text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

import numpy as np

from extraction.claims.language import detect_language
from extraction.documents import selectors
from extraction.documents.errors import DocumentError
from extraction.models import Document, ExtractionVersion
from graphctx.models import EmbeddingSpace

TEXT, LEARNER = "text", "learner"
"""What a method may need of a document: a text in force, a learner."""

ENDINGS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends the process or the call, and is nobody's failure. Any other BaseException is one: Rust's panics are."""


class MethodRefused(DocumentError):
    """No such kind or method, its options are wrong, or it is not ready here."""


class OutputFailed(DocumentError):
    """A method could not make its output. ``reason`` is the stable short name that the failed output keeps."""


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a method: its default fixes the type; ``choices`` or ``least`` and ``most`` bound it when given."""

    default: str | int | float | bool
    help: str
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None

    def problem(self, value: Any) -> str:
        """Why the value is not allowed, as what it must be; empty when it is."""
        if type(value) is not type(self.default):
            return f"of type {type(self.default).__name__}"
        if self.choices and value not in self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            return f"from {self.least} to {self.most}"
        return ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "default": self.default,
            "help": self.help,
            "choices": list(self.choices),
            "least": self.least,
            "most": self.most,
        }


@dataclass(frozen=True)
class Source:
    """The extraction that an output is made of: its text and its manifest as they stand in the store."""

    document: Document
    extraction: ExtractionVersion
    # Called between the steps of long work; raises when the work is to stop.
    checkpoint: Callable[[], None] = lambda: None

    @cached_property
    def text(self) -> str:
        return selectors.version_text(self.document.pk, self.extraction.pk)

    @cached_property
    def segments(self) -> list[dict[str, Any]]:
        """The manifest's rows that have a span, in the order of their place in the text."""
        rows = selectors.version_manifest(self.document.pk, self.extraction.pk)
        return sorted(
            (row for row in rows if isinstance(row.get("span"), dict)), key=lambda row: row["span"]["char_start"]
        )

    @cached_property
    def language(self) -> str:
        """Code of the text's main language, "und" where it cannot be told."""
        return detect_language(self.text)


@dataclass(slots=True)
class Piece:
    """A chunk before it is stored: ``text[start:end]`` of the source."""

    start: int
    end: int
    text: str
    segment_ids: list[str] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    language: str = "und"


@dataclass(slots=True)
class Made:
    """What a method made. ``pieces`` of kind chunks; ``vectors`` (unit, float32) by the primary key of their chunk.

    ``write`` is called in the transaction that stores the output, with the output's id, for what has tables of its own.
    """

    text: str = ""
    content: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    pieces: Sequence[Piece] = ()
    vectors: Mapping[int, np.ndarray] = field(default_factory=dict)
    write: Callable[[UUID], None] | None = None


class Method:
    """Subclass it, implement `make`; register by the entry point group ``osii.methods`` of your package."""

    kind: ClassVar[str]
    name: ClassVar[str]
    version: ClassVar[str]
    label: ClassVar[str]
    options: ClassVar[Mapping[str, Option]] = {}
    needs: ClassVar[tuple[str, ...]] = (TEXT,)

    def ready(self, options: Mapping[str, Any]) -> str:
        """What is missing here for these options, or "" when it can run. Cheap: it is asked for every plan."""
        return ""

    def prompt_version(self, options: Mapping[str, Any]) -> str:
        """Version of the instructions that a model follows and the model's name; "" for a method without a model."""
        return ""

    def space(self) -> EmbeddingSpace | None:
        """The vector space that it writes into, if any."""
        return None

    def resolve(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Every option with its value. Raises MethodRefused for an unknown name or a value that is not allowed."""
        values = {name: option.default for name, option in self.options.items()}
        for name, value in (given or {}).items():
            option = self.options.get(name)
            if option is None:
                known = ", ".join(self.options) or "it has none"
                raise MethodRefused("unknown_option", f"{self.name} has no option {name!r} (options: {known})")
            if problem := option.problem(value):
                raise MethodRefused("wrong_option", f"{self.name}: {name} is {value!r}, but must be {problem}")
            values[name] = value
        return values

    def identity(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options as they are recorded and compared: with whatever else decides what comes out."""
        return options

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        """Make the output. Writes nothing itself. Raises OutputFailed with a short name."""
        raise NotImplementedError
