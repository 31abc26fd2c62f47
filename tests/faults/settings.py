"""The product's settings and the app that can hold a worker, or set its clock."""

from osii.settings import *  # noqa: F403
from osii.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.apps.FaultsConfig"]
