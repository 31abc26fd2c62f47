"""The WSGI entry point; `gunicorn osii.wsgi` works by itself and starts the embedded servers when no URL is given."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "osii.settings")

from osii import embedded
from osii.care import marker

marker.refuse_to_start()
embedded.ensure()
application = get_wsgi_application()
