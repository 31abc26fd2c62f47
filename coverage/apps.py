from django.apps import AppConfig


class CoverageConfig(AppConfig):
    name = "coverage"
    verbose_name = "Chats and coverage"
