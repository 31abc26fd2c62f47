from django.apps import AppConfig


class OsiiConfig(AppConfig):
    name = "osii"
    verbose_name = "OSII"
