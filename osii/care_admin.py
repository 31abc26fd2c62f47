"""Django admin of the records of care: to be read only, by whoever has the view permission."""

from django.contrib import admin

from coverage.admin import ReadOnlyAdmin

from .models import Erasure, StaffAction


@admin.register(StaffAction)
class StaffActionAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "username", "action", "about", "status", "address")
    list_filter = ("action", "created_at")
    search_fields = ("username", "action", "about")


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "learner", "counts", "actor")
    search_fields = ("=learner", "actor")
