"""The WSGI entry point; `gunicorn osii.wsgi` works by itself and starts the embedded servers when no URL is given."""

import os

from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "osii.settings")

from osii import embedded
from osii.care import marker


def _start() -> WSGIHandler:
    marker.refuse_to_start()
    embedded.ensure()
    started = get_wsgi_application()
    from django.core.signals import request_finished

    from osii.care import memory  # models can be imported from now on
    from osii.ops.requests import Request

    started.request_class = Request
    request_finished.connect(memory.watch.look)
    return started


application = _start()
