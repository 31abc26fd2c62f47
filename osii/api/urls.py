"""The API's place among the project's routes."""

from django.urls import path

from .routes import api

urlpatterns = [path("", api.urls)]
