from django.apps import AppConfig


class OsiiConfig(AppConfig):
    name = "osii"
    verbose_name = "OSII"

    def ready(self) -> None:
        from extraction.documents import mirror

        from .library import files

        if files.sync not in mirror.FURTHER:
            mirror.FURTHER.append(files.sync)
