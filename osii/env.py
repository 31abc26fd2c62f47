"""Strict reading of environment variables.

Each reader names its variable, and a wrong value raises ImproperlyConfigured with that name, the value (never for
secrets) and what is allowed. An empty value counts as not set. Only `osii.settings`, and the embedded services and the web
server's own settings, which must work before settings are loaded, read the environment; but for the keys of models that the admin names, which are
looked up when they are used (`extraction.llm.choice`).
"""

import os
import re
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}

DATABASE_SCHEMES = ("postgresql", "postgres")
REDIS_SCHEMES = ("redis", "rediss", "unix")


def wrong(name: str, value: str, allowed: str) -> ImproperlyConfigured:
    """The error for a value that is not allowed; the caller masks secrets in `value`."""
    return ImproperlyConfigured(f"{name} is {value!r}, but must be {allowed}")


def string(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def choice(name: str, allowed: tuple[str, ...], default: str) -> str:
    value = string(name, default)
    if value not in allowed:
        raise wrong(name, value, f"one of: {', '.join(allowed)}")
    return value


def integer(name: str, default: int, *, least: int, most: int) -> int:
    value = string(name)
    if not value:
        return default
    if not value.isascii() or not value.isdecimal() or not least <= int(value) <= most:
        raise wrong(name, value, f"a whole number from {least} to {most}")
    return int(value)


def amount(name: str) -> Decimal | None:
    """An amount of money, not negative; None when the variable is not set."""
    value = string(name)
    if not value:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value, re.ASCII):
        raise wrong(name, value, "an amount of money like 2.50, from 0, with at most six decimals")
    return Decimal(value)


def boolean(name: str, *, default: bool) -> bool:
    value = string(name).lower()
    if not value:
        return default
    if value not in TRUE | FALSE:
        raise wrong(name, value, "one of: 1, true, yes, on, 0, false, no, off")
    return value in TRUE


def text_format(name: str) -> str:
    """A text with the place ``{text}`` in it once; without the variable that place alone."""
    value = string(name, "{text}")
    if value.count("{text}") != 1 or len(value) > 200:
        raise wrong(name, value, "a text of at most 200 characters with {text} in it once")
    return value


def strings(name: str, default: list[str]) -> list[str]:
    """A comma-separated list; spaces around the commas are ignored."""
    value = string(name)
    return [item.strip() for item in value.split(",") if item.strip()] or default


def path(name: str, default: Path) -> Path:
    """An absolute path; a relative value starts at the project's root, not at the working directory."""
    value = string(name)
    if "\0" in value or "\n" in value:
        raise wrong(name, value, "a path of one line")
    chosen = BASE_DIR / Path(value).expanduser() if value else default
    if chosen.exists() and not chosen.is_dir():
        raise wrong(name, str(chosen), "a directory, or a path where one can be made")
    return chosen


def folders(name: str) -> tuple[Path, ...]:
    """Absolute paths of folders, separated by colons as in PATH; none when the variable is not set."""
    chosen = tuple(Path(part).expanduser() for part in string(name).split(os.pathsep) if part.strip())
    for folder in chosen:
        if not folder.is_absolute() or not folder.is_dir():
            raise wrong(name, str(folder), f"absolute paths of folders that exist, separated by {os.pathsep!r}")
    return chosen


def url(name: str, schemes: tuple[str, ...]) -> str:
    """A URL with one of the schemes, or "" when the variable is not set."""
    value = string(name)
    if not value:
        return ""
    allowed = "a URL that starts with " + " or ".join(f"{scheme}://" for scheme in schemes)
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
