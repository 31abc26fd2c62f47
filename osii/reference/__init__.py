"""The reference in ``docs/``, written from the code: commands from themselves, settings from what is read, routes from OpenAPI."""

from collections.abc import Callable, Mapping
from pathlib import Path

from django.conf import settings

from . import commands, routes, variables

DOCS = Path(settings.BASE_DIR, "docs")
PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands.page,
    "settings.md": variables.page,
    "routes.md": routes.page,
}
"""What makes each page, by its name in ``docs/``."""


def differing() -> dict[str, str]:
    """The pages that are not as the code says, each with its true text."""
    made = {name: make() for name, make in PAGES.items()}
    return {name: text for name, text in made.items() if _kept(name) != text}


def _kept(name: str) -> str:
    path = DOCS / name
    return path.read_text(encoding="utf-8") if path.exists() else ""
