"""What an extractor is. Runs in the child process too: no Django here, and heavy libraries only inside `extract`."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from ..bundle import Bundle
from ..errors import ExtractorRefused
from ..limits import Limits


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The document's bytes as an extractor gets them: ``path`` is to be read only."""

    path: Path
    filename: str
    media_type: str


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of an extractor: its default fixes the type; ``choices`` bounds it when given."""

    default: str | int | float | bool
    help: str
    choices: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """{default, help, choices}"""
        return {"default": self.default, "help": self.help, "choices": list(self.choices)}


class Extractor:
    """Subclass it, name what it reads, implement `extract`; register by the entry point group ``osii.extractors``."""

    name: ClassVar[str]
    version: ClassVar[str]
    label: ClassVar[str]
    media_types: ClassVar[tuple[str, ...]]
    except_types: ClassVar[frozenset[str]] = frozenset()
    """Types that a pattern of the rules may hold, and that it cannot read."""
    options: ClassVar[Mapping[str, Option]] = {}
    limits: ClassVar[Limits] = Limits()

    @classmethod
    def declares(cls, media_type: str) -> bool:
        """Whether it says that it reads this type."""
        return media_type not in cls.except_types and any(fnmatchcase(media_type, one) for one in cls.media_types)

    def ready(self) -> str:
        """What is missing on this machine, or "" when it can run."""
        return ""

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        """Write the text and its segments into ``bundle``. Raises ExtractionFailed with a short name."""
        raise NotImplementedError

    @classmethod
    def reference(cls) -> str:
        """Where the child process finds this class."""
        return f"{cls.__module__}:{cls.__qualname__}"

    def resolve(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Every option with its value. Raises ExtractorRefused for an unknown name or a value that is not allowed."""
        values = {name: option.default for name, option in self.options.items()}
        for name, value in (given or {}).items():
            option = self.options.get(name)
            if option is None:
                known = ", ".join(self.options) or "it has none"
                raise ExtractorRefused("unknown_option", f"{self.name} has no option {name!r} (options: {known})")
            if type(value) is not type(option.default) or (option.choices and value not in option.choices):
                allowed = ", ".join(map(repr, option.choices)) or f"of type {type(option.default).__name__}"
                raise ExtractorRefused("wrong_option", f"{self.name}: {name} is {value!r}, but must be {allowed}")
            values[name] = value
        return values
