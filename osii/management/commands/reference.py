"""Write the reference of commands, settings and routes."""

from typing import Any

from django.core.management.base import CommandParser

from osii import reference
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "For developers: write docs/commands.md, docs/settings.md and docs/routes.md anew from the code: the commands, the "
        "environment variables, the API."
    )
    requires_system_checks: list[str] = []

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not as it would be")

    def run(self, *, check: bool, **options: Any) -> None:
        differing = reference.differing()
        if check and differing:
            stale = ", ".join(f"docs/{name}" for name in differing)
            self.fail(f"{stale}: not what the code says; run make reference")
        for name, text in differing.items():
            (reference.DOCS / name).write_text(text, encoding="utf-8")
        pages = [{"page": f"docs/{name}", "changed": name in differing} for name in reference.PAGES]
        self.result({"pages": pages}, _render)


def _render(data: dict[str, Any]) -> str:
    return "\n".join(
        f"{one['page']} {'is written' if one['changed'] else 'was true already'}." for one in data["pages"]
    )
