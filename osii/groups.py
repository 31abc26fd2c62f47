"""The four groups that staff accounts are put in; each holds what the one before it holds.

A new installation gets them by migration. What an owner takes from or adds to a group later stays.
"""

from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions

APPS = ("coverage", "extraction", "graphctx", "osii")

VIEWER = "viewer"
REVIEWER = "reviewer"
LIBRARIAN = "librarian"
ADMINISTRATOR = "administrator"
ORDER = (VIEWER, REVIEWER, LIBRARIAN, ADMINISTRATOR)

MAY = {
    VIEWER: "sees chats, propositions, documents and what works on them",
    REVIEWER: "decides what becomes of candidates, changes propositions, says what a chat may be given",
    LIBRARIAN: "imports chats, adds files, runs and stops extraction and processing, promotes, keeps collections",
    ADMINISTRATOR: "removes and erases, makes tokens, sets models and extractors, sees who did what",
}
"""What each group adds to the one before it."""

SECRET = {"osii.view_apitoken", "osii.view_erasure", "osii.view_staffaction"}
"""Whose rows tell who may call the API, and who did what: for administrators."""

REVIEWS = {
    "coverage.change_chat",
    "extraction.review_candidate",
    "graphctx.change_proposition",
    "graphctx.change_steer",
}
"""Decide what becomes of candidates, change propositions, set what a chat may be given and prepare its steer again."""

KEEPS = {
    "coverage.add_chat",
    "extraction.add_promotion",
    "extraction.add_run",
    "extraction.change_batch",
    "extraction.change_document",
    "extraction.change_run",
    "osii.add_chatimport",
    "osii.add_collection",
    "osii.add_collectiondocument",
    "osii.add_processingrun",
    "osii.change_collection",
    "osii.change_collectiondocument",
    "osii.change_processingrun",
    "osii.delete_collection",
    "osii.delete_collectiondocument",
    "extraction.add_document",
    "extraction.add_documentsource",
}
"""Import chats and talk in the built-in one, add files, run and stop extraction and processing, promote, keep collections."""


def members(known: set[str]) -> dict[str, set[str]]:
    """{group: its permissions "app.codename"}, taken from all permissions of this project's apps."""
    viewer = {name for name in known if name.split(".")[1].startswith("view_")} - SECRET
    reviewer = viewer | REVIEWS
    librarian = reviewer | KEEPS
    return {VIEWER: viewer, REVIEWER: reviewer, LIBRARIAN: librarian, ADMINISTRATOR: known}


def first_with(permission: str) -> str:
    """The least of the groups that holds the permission as they are made."""
    return next(name for name, held in members({permission}).items() if permission in held)


def create(apps: Apps, installed: Apps) -> None:
    """Make the groups that are not there and give each its permissions.

    ``apps`` are the models to write with (a migration's historic ones). The rows of permissions are written by Django
    only after all migrations, so those of the ``installed`` apps are made first.
    """
    permission, group = apps.get_model("auth", "Permission"), apps.get_model("auth", "Group")
    for label in APPS:
        create_permissions(installed.get_app_config(label), verbosity=0, apps=installed)
    rows = permission.objects.filter(content_type__app_label__in=APPS).select_related("content_type")
    by_name = {f"{row.content_type.app_label}.{row.codename}": row for row in rows}
    for name, wanted in members(set(by_name)).items():
        made, _ = group.objects.get_or_create(name=name)
        made.permissions.add(*(by_name[member] for member in sorted(wanted)))
