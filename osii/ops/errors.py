"""Error pages with details (DEBUG) and reports of errors: without secrets, as log lines are."""

from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

from . import logs


class Reporter(ExceptionReporter):
    """Django hides settings by their names; here values that are secrets are covered wherever they stand, in addresses of
    servers, local variables and messages too."""

    def get_traceback_html(self) -> SafeString:
        return SafeString(logs.secrets.cover(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        return SafeString(logs.secrets.cover(super().get_traceback_text()))
