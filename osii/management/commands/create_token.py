"""A bearer token of the HTTP API."""

from typing import Any

from django.core.management.base import CommandParser

from coverage.models import Learner
from coverage.services import get_or_create_learner
from coverage.view import MalformedParts, check_storable
from osii import tokens
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = "Make a bearer token of the HTTP API and print it, once: only its hash is kept."

    def arguments(self, parser: CommandParser) -> None:
        scope = parser.add_mutually_exclusive_group(required=True)
        scope.add_argument("--learner", metavar="NAME", help="opens this learner's chats and knowledge, nothing else")
        scope.add_argument("--staff", action="store_true", help="opens those of all learners")
        parser.add_argument(
            "--days",
            type=int,
            default=tokens.DEFAULT_DAYS,
            metavar="N",
            help=f"expires after N days, 0 for never (default {tokens.DEFAULT_DAYS})",
        )
        parser.add_argument("--name", default="", metavar="LABEL", help="where it is used, so that it can be found")

    def run(self, **options: Any) -> None:
        learner = None if options["staff"] else self._learner(options["learner"])
        label = self._storable(options["name"].strip(), "--name")
        try:
            row, token = tokens.issue(learner=learner, name=label, days=options["days"])
        except ValueError as error:
            self.fail(f"--days: {error}")
        data = {
            "token": token,
            "id": row.pk,
            "prefix": row.prefix,
            "name": row.name,
            "learner": learner and learner.name,
            "staff": row.staff,
            "expires_at": row.expires_at,
        }
        self.note(f"The token for {row.scope}; it cannot be shown again:")
        self.result(data, lambda shown: shown["token"])

    def _learner(self, name: str) -> Learner:
        name = self._storable(name.strip(), "--learner")
        if not name:
            self.fail("--learner: the name is blank")
        if not Learner.objects.filter(name=name).exists():
            self.note(f"The learner {name} is new.")
        return get_or_create_learner(name)

    def _storable(self, text: str, where: str) -> str:
        try:
            check_storable(text, where)
        except MalformedParts as error:
            self.fail(str(error))
        if len(text) > 200:
            self.fail(f"{where}: {len(text)} characters; 200 are allowed")
        return text
