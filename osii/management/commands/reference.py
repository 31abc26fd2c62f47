"""Write the reference of the command line."""

from typing import Any

from django.core.management.base import CommandParser

from osii import reference
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = "For developers: write docs/commands.md anew from what the commands say of themselves."
    requires_system_checks = ()

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="write nothing; fail if the page is not as it would be"
        )

    def run(self, *, check: bool, **options: Any) -> None:
        page = reference.page()
        same = reference.PAGE.exists() and reference.PAGE.read_text(encoding="utf-8") == page
        if check and not same:
            self.fail("docs/commands.md is not what the commands say: run make reference")
        if not same:
            reference.PAGE.write_text(page, encoding="utf-8")
        self.result({"page": "docs/commands.md", "changed": not same}, _render)


def _render(data: dict[str, Any]) -> str:
    return f"{data['page']} {'is written' if data['changed'] else 'was true already'}."
