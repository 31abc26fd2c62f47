"""A bearer token of the HTTP API."""

from typing import Any

from django.contrib.auth.models import User
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
            "--account",
            metavar="NAME",
            help="with --staff: may only what this staff account may (without it: everything)",
        )
        parser.add_argument(
            "--days",
            type=int,
            default=tokens.DEFAULT_DAYS,
            metavar="N",
            help=f"expires after N days, 0 for never (default {tokens.DEFAULT_DAYS})",
        )
        parser.add_argument("--name", default="", metavar="LABEL", help="where it is used, so that it can be found")

    def run(self, **options: Any) -> None:
        account = self._account(options["account"], options["staff"]) if options["account"] is not None else None
        learner = None if options["staff"] else self._learner(options["learner"])
        label = self._storable(options["name"].strip(), "--name")
        try:
            row, token = tokens.issue(learner=learner, account=account, name=label, days=options["days"])
        except ValueError as error:
            self.fail(f"--days: {error}")
        data = {
            "token": token,
            "id": row.pk,
            "prefix": row.prefix,
            "name": row.name,
            "learner": learner and learner.name,
            "staff": row.staff,
            "account": account and account.get_username(),
            "expires_at": row.expires_at,
        }
        self.note(f"The token for {row.scope}; it cannot be shown again:")
        self.result(data, lambda shown: shown["token"])

    def _account(self, name: str, staff: bool) -> User:  # noqa: FBT001 - an option of the command line
        if not staff:
            self.fail("--account: only a token with --staff acts for an account")
        found = User.objects.filter(username=self._storable(name.strip(), "--account"), is_staff=True, is_active=True)
        account = found.first()
        if account is None:
            self.fail(f"--account: there is no active staff account {name.strip()!r}; make it in the admin first")
        return account

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
