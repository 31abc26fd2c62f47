"""`manage.py doctor`: look at every part and say what to do."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from osii import console

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


class Command(console.Command):
    help = (
        "Check each part of the installation: Python, OSII_HOME, disk, PostgreSQL, pgvector, migrations, Redis, workers, "
        "the embedding model, the language model and the extractors of documents, and say what to do about each. "
        "Exit status 1 when a required part fails. Starts the embedded servers; changes nothing else."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--production",
            action="store_true",
            help="also look at what matters once others reach it: HTTPS, hosts, secrets, backups",
        )
        parser.add_argument(
            "--probe-model",
            action="store_true",
            help="also ask the language model for one tool call: two short requests, which a hosted one charges for",
        )
        parser.add_argument(
            "--model", metavar="NAME", default="", help="with --probe-model: which one of the models in the admin"
        )

    def run(self, **options: Any) -> None:
        from osii import health

        findings = list(health.examine(probe_model=options["probe_model"], model=options["model"]))
        if options["production"]:
            from osii.ops import production

            findings += production.examine()
        healthy = not any(finding.state == "fail" for finding in findings)
        self.result({"healthy": healthy, "checks": [asdict(finding) for finding in findings]}, self._render)
        if not healthy:
            sys.exit(1)

    def _render(self, data: dict[str, Any]) -> Iterator[str]:
        width = max(len(check["name"]) for check in data["checks"])
        for check in data["checks"]:
            yield f"{MARKS[check['state']]}  {check['name']:<{width}}  {check['detail']}"
            if check["advice"]:
                yield f"{'':<{width + 6}}  → {check['advice']}"
        yield "All required parts work." if data["healthy"] else "A required part does not work: see FAIL above."
