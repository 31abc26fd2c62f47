"""Routes of the whole project."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from osii.web.logins import LogoutView

handler403 = "osii.web.refusals.permission_denied"

urlpatterns = [
    path("", include("osii.web.urls")),
    # One login and logout for both: the admin's own form would be a second, different one.
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/logout/", LogoutView.as_view(), name="admin-logout"),
    path("admin/", admin.site.urls),
    path("api", RedirectView.as_view(pattern_name="api:openapi-view")),
    path("api/", include("osii.api.urls")),
]
