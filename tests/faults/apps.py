"""An app that only fault tests install: it adds a worker that can be held at a batch."""

from django.apps import AppConfig


class FaultsConfig(AppConfig):
    name = "tests.faults"

    def ready(self) -> None:
        from extraction.workers import register_worker

        register_worker("held", "tests.faults.held:HeldWorker")
