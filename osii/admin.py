"""Django admin as a whole: the queue dashboard is for superusers only, because it can delete and requeue jobs."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from django_rq.admin import QueueAdmin
from django_rq.models import Dashboard
from rq.exceptions import NoSuchJobError

from . import (  # noqa: F401 - they register their models
    accounts_admin,
    care_admin,
    documents_admin,
    imports_admin,
    outputs_admin,
    processing_admin,
    tokens_admin,
)

admin.site.site_header = "OSII administration"
admin.site.site_title = "OSII"
admin.site.index_title = "All tables"
admin.site.site_url = None  # the dashboard is linked beside it
admin.site.empty_value_display = "–"
apps.get_app_config("django_rq").verbose_name = "Queues"

NOT_THERE = ("worker key", "rq_scheduler not installed")
"""What the library says of a worker that is gone, and of schedulers, which OSII has none of."""


def superuser_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not request.user.is_superuser:
            raise PermissionDenied("Queues and jobs are for superusers.")
        try:
            return view(request, *args, **kwargs)
        except NoSuchJobError:
            raise Http404("This job is not there any more.") from None
        except (ImproperlyConfigured, ValueError) as error:
            if any(words in str(error) for words in NOT_THERE):
                raise Http404(str(error)) from None
            raise

    return guarded


class SuperuserQueueAdmin(QueueAdmin):
    """The library lets every staff account act on jobs; here each of its pages asks for a superuser."""

    def get_urls(self) -> list[URLPattern]:
        patterns = super().get_urls()
        for pattern in patterns:
            pattern.callback = superuser_only(pattern.callback)
        return patterns

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


admin.site.unregister(Dashboard)
admin.site.register(Dashboard, SuperuserQueueAdmin)
