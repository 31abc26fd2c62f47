"""An app that only fault tests install: a worker process in it can be held at any stage of a batch or of a library's item,
its clock can jump, and what waits for a minute in the product waits for seconds."""

import os

from django.apps import AppConfig


class FaultsConfig(AppConfig):
    name = "tests.faults"

    def ready(self) -> None:
        from extraction.workers import register_worker
        from tests.faults import clock, held, held_library, hurry

        register_worker("held", "tests.faults.held:HeldWorker")
        held.install()
        held_library.install()
        if os.environ.get("FAULT_HURRY"):
            hurry.install()
        if os.environ.get("FAULT_CLOCK"):
            clock.install()
