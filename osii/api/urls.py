"""The API's place among the project's routes."""

from django.urls import path
from django.views.generic import RedirectView

from .routes import api

_docs = RedirectView.as_view(pattern_name="api:openapi-view")

urlpatterns = [path("", _docs), path("docs/", _docs), path("", api.urls)]
