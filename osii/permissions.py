"""What opens a page, an action or a call: permissions of an account, here by name; and who holds those that one lacks.

A page names what it needs where it is written (``osii.web.access``), a call of the API in ``osii.api.permissions``.
Groups hold permissions (``osii.groups``); an owner may change what a group holds, so that nothing here asks for a group.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.core.exceptions import PermissionDenied

from .groups import ORDER

SEE_BATCHES = "extraction.view_batch"
SEE_CHATS = "coverage.view_chat"
SEE_COLLECTIONS = "osii.view_collection"
SEE_DOCUMENTS = "extraction.view_document"
SEE_IMPORTS = "osii.view_chatimport"
SEE_PROCESSING = "osii.view_processingrun"
SEE_PROPOSITIONS = "graphctx.view_proposition"
SEE_RUNS = "extraction.view_run"

SEE_LIBRARY = (SEE_PROCESSING, SEE_DOCUMENTS)
"""What plans and processing runs are seen with: they name documents."""

IMPORT = "osii.add_chatimport"
"""Also what the pages of imports need: they name the files of others."""
PROCESS = "osii.add_processingrun"
CONTROL = "osii.change_processingrun"
"""Cancel a processing run, retry what failed in it, or leave it so."""
EXTRACT = "extraction.add_run"
REVIEW = "extraction.review_candidate"
TALK = "coverage.add_chat"

ANYTHING = (
    SEE_CHATS, SEE_PROPOSITIONS, SEE_DOCUMENTS, SEE_PROCESSING, SEE_BATCHES, SEE_COLLECTIONS, SEE_RUNS, SEE_IMPORTS,
    REVIEW, IMPORT, PROCESS,
)  # fmt: skip
"""Who holds one of these has a page to look at."""


TOLD = 4
"""So many permissions are named in one sentence; the page of a refusal lists them all."""


@dataclass(frozen=True, slots=True)
class Needs:
    """All of ``every``, and of ``one_of`` one, if it names any."""

    every: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    def missing(self, user: User | AnonymousUser) -> tuple[str, ...]:
        """What the account lacks; of ``one_of`` all, for any of them would do."""
        lacking = tuple(name for name in self.every if not user.has_perm(name))
        if lacking or not self.one_of or any(user.has_perm(name) for name in self.one_of):
            return lacking
        return self.one_of

    def allow(self, user: User | AnonymousUser) -> bool:
        return not self.missing(user)

    def require(self, user: User | AnonymousUser) -> None:
        """Raises Lacking."""
        if missing := self.missing(user):
            raise Lacking(missing, any_of_them=missing == self.one_of)


class Lacking(PermissionDenied):
    """The account lacks these permissions ("app.codename"), or with ``any_of_them`` has not one of them."""

    def __init__(self, permissions: tuple[str, ...], *, any_of_them: bool = False) -> None:
        self.permissions, self.any_of_them = permissions, any_of_them and len(permissions) > 1
        what = "one of the permissions" if self.any_of_them else f"the permission{'s' if permissions[1:] else ''}"
        told = ", ".join(permissions) if len(permissions) <= TOLD else "that follow"
        super().__init__(f"This needs {what} {told}.")


def named(permissions: Iterable[str]) -> list[tuple[str, str]]:
    """[(permission, what it allows in words)] in this order: one query."""
    wanted = list(permissions)
    rows = Permission.objects.filter(codename__in=[name.partition(".")[2] for name in wanted])
    words = {
        f"{app}.{code}": said for app, code, said in rows.values_list("content_type__app_label", "codename", "name")
    }
    return [(name, words.get(name, name)) for name in wanted]


def holders(permissions: Iterable[str], *, any_of_them: bool = False) -> list[str]:
    """The groups that hold all of these permissions, or with ``any_of_them`` one; the least first: one query."""
    wanted = set(permissions)
    rows = Group.objects.filter(permissions__codename__in=[name.partition(".")[2] for name in wanted])
    held: dict[str, set[str]] = {}
    for group, app, code in rows.values_list("name", "permissions__content_type__app_label", "permissions__codename"):
        held.setdefault(group, set()).add(f"{app}.{code}")
    found = [group for group, names in held.items() if names & wanted and (any_of_them or names >= wanted)]
    return sorted(found, key=_rank)


def groups_of(user: User | AnonymousUser) -> list[str]:
    return sorted(user.groups.values_list("name", flat=True), key=_rank)


def superusers(most: int = 5) -> list[str]:
    """Who may put accounts into groups."""
    rows = User.objects.filter(is_superuser=True, is_active=True, is_staff=True).order_by("username")
    return list(rows.values_list("username", flat=True)[:most])


def _rank(group: str) -> tuple[int, str]:
    return (ORDER.index(group) if group in ORDER else len(ORDER), group)
