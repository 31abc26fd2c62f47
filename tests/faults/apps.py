"""An app that only fault tests install: a worker process in it can be held at any stage of a batch or of a library's item."""

from django.apps import AppConfig


class FaultsConfig(AppConfig):
    name = "tests.faults"

    def ready(self) -> None:
        from extraction.workers import register_worker
        from tests.faults import held, held_library

        register_worker("held", "tests.faults.held:HeldWorker")
        held.install()
        held_library.install()
