from django.apps import AppConfig


class GraphctxConfig(AppConfig):
    name = "graphctx"
    verbose_name = "Knowledge graph"

    def ready(self) -> None:
        from . import evidence  # noqa: F401 - connects the signal receiver
