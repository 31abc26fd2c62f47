"""Strict reading of environment variables.

Each reader names its variable, and a wrong value raises ImproperlyConfigured with that name, the value (never for
secrets) and what is allowed. An empty value counts as not set. Only `osii.settings`, and the embedded services and the web
server's own settings, which must work before settings are loaded, read the environment; but for the keys of models that the admin names, which are
looked up when they are used (`extraction.llm.choice`). What was asked for is kept in `READ`, for the reference.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}

DATABASE_SCHEMES = ("postgresql", "postgres")
REDIS_SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable as it is read: what a value must be, and what counts without one ("" is nothing)."""

    allowed: str
    default: str


READ: dict[str, Variable] = {}
"""Every variable that was asked for in this process, by name."""


def _note(name: str, allowed: str, default: object = "") -> None:
    READ.setdefault(name, Variable(allowed, str(default)))


def wrong(name: str, value: str, allowed: str) -> ImproperlyConfigured:
    """The error for a value that is not allowed; the caller masks secrets in `value`."""
    return ImproperlyConfigured(f"{name} is {value!r}, but must be {allowed}")


def string(name: str, default: str = "") -> str:
    _note(name, "text", default)
    return _value(name, default)


def _value(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def choice(
    name: str, allowed: tuple[str, ...], default: str, *, more: Callable[[], Iterable[str]] | None = None
) -> str:
    """One of the names; ``more`` gives further ones, and is asked only for a value that is none of the first."""
    _note(name, f"one of: {', '.join(allowed)}" + (", or one that a package brings" if more else ""), default)
    value = _value(name, default)
    if value not in allowed and more is not None:
        allowed = (*allowed, *more())
    if value not in allowed:
        raise wrong(name, value, f"one of: {', '.join(allowed)}")
    return value


def integer(name: str, default: int, *, least: int, most: int) -> int:
    expected = f"a whole number from {least} to {most}"
    _note(name, expected, default)
    value = _value(name)
    if not value:
        return default
    if not value.isascii() or not value.isdecimal() or not least <= int(value) <= most:
        raise wrong(name, value, expected)
    return int(value)


def amount(name: str) -> Decimal | None:
    """An amount of money, not negative; None when the variable is not set."""
    expected = "an amount of money like 2.50, from 0, with at most six decimals"
    _note(name, expected)
    value = _value(name)
    if not value:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value, re.ASCII):
        raise wrong(name, value, expected)
    return Decimal(value)


def boolean(name: str, *, default: bool) -> bool:
    expected = "one of: 1, true, yes, on, 0, false, no, off"
    _note(name, expected, "on" if default else "off")
    value = _value(name).lower()
    if not value:
        return default
    if value not in TRUE | FALSE:
        raise wrong(name, value, expected)
    return value in TRUE


def text_format(name: str) -> str:
    """A text with the place ``{text}`` in it once; without the variable that place alone."""
    expected = "a text of at most 200 characters with {text} in it once"
    _note(name, expected, "{text}")
    value = _value(name, "{text}")
    if value.count("{text}") != 1 or len(value) > 200:
        raise wrong(name, value, expected)
    return value


def strings(name: str, default: list[str]) -> list[str]:
    """A comma-separated list; spaces around the commas are ignored."""
    _note(name, "texts, separated by commas", ",".join(default))
    value = _value(name)
    return [item.strip() for item in value.split(",") if item.strip()] or default


def path(name: str, default: Path) -> Path:
    """An absolute path; a relative value starts at the project's root, not at the working directory."""
    _note(name, "the path of a folder", default)
    value = _value(name)
    if "\0" in value or "\n" in value:
        raise wrong(name, value, "a path of one line")
    chosen = BASE_DIR / Path(value).expanduser() if value else default
    if chosen.exists() and not chosen.is_dir():
        raise wrong(name, str(chosen), "a directory, or a path where one can be made")
    return chosen


def folders(name: str) -> tuple[Path, ...]:
    """Absolute paths of folders, separated by colons as in PATH; none when the variable is not set."""
    expected = f"absolute paths of folders that exist, separated by {os.pathsep!r}"
    _note(name, expected)
    chosen = tuple(Path(part).expanduser() for part in _value(name).split(os.pathsep) if part.strip())
    for folder in chosen:
        if not folder.is_absolute() or not folder.is_dir():
            raise wrong(name, str(folder), expected)
    return chosen


def url(name: str, schemes: tuple[str, ...]) -> str:
    """A URL with one of the schemes, or "" when the variable is not set."""
    allowed = "a URL that starts with " + " or ".join(f"{scheme}://" for scheme in schemes)
    _note(name, allowed)
    value = _value(name)
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018  reading it is what checks it
    except ValueError as error:
        raise wrong(name, mask(value), f"{allowed} ({error})") from None
    if parts.scheme not in schemes or "://" not in value:
        raise wrong(name, mask(value), allowed)
    return value


def mask(value: str) -> str:
    """The URL with its password replaced, fit for messages and logs."""
    value = re.sub(r"([?&]password=)[^&]*", r"\1***", value)
    scheme, separator, rest = value.partition("://")
    credentials, at, address = rest.rpartition("@")
    if not separator or not at or ":" not in credentials:
        return value
    return f"{scheme}://{credentials.partition(':')[0]}:***@{address}"


def home() -> Path:
    """OSII_HOME: all embedded data, the document store and generated secrets."""
    return path("OSII_HOME", BASE_DIR / "var")
