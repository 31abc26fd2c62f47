from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.db.models.signals import pre_delete

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class OsiiConfig(AppConfig):
    name = "osii"
    verbose_name = "OSII"

    def ready(self) -> None:
        from django.contrib.auth import get_user_model

        from extraction.documents import mirror

        from .library import files

        if files.sync not in mirror.FURTHER:
            mirror.FURTHER.append(files.sync)
        pre_delete.connect(_end_tokens, sender=get_user_model(), dispatch_uid="osii: end tokens")


def _end_tokens(instance: "User", **_: object) -> None:
    """A staff token may what its account may: it ends with it."""
    from .tokens import revoke_those_of

    revoke_those_of(instance)
