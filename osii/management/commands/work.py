"""`manage.py work QUEUE`: run one worker."""

import logging
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from coverage.queueing import STEERS
from osii import console


class Command(console.Command):
    help = (
        "Run one worker on one queue until it is told to stop. SIGTERM or Ctrl-C lets the current job end first. "
        "Start as many as the machine carries; `manage.py up` starts its own."
    )
    has_json = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", choices=sorted(settings.RQ_QUEUES), help="the queue to take jobs from")
        parser.add_argument("--burst", action="store_true", help="end when the queue is empty")

    def run(self, *, queue: str, burst: bool, **options: Any) -> None:
        from osii import warming, workers

        if queue == STEERS:
            warming.in_background()  # beside the worker, which is online at once
        else:
            workers.give_way()
        worker = workers.worker(queue)
        quiet = options["verbosity"] < 2
        worker.work(burst=burst, logging_level=logging.WARNING if quiet else logging.INFO)
