"""The model is loaded beside the work, once, and only where it runs in the process itself."""

import threading
from pathlib import Path

import pytest

from graphctx import embedding
from graphctx.embedders.local_model import LocalModel, minilm
from osii import gunicorn_conf, warming


@pytest.mark.django_db
def test_a_web_process_that_runs_no_model_loads_none(settings) -> None:
    settings.OSII_EMBEDDER = "hashing"
    assert warming.in_web_server() is None


def test_a_model_that_is_not_there_keeps_no_web_process_from_starting(settings, tmp_path: Path) -> None:
    settings.OSII_HOME, settings.OSII_EMBEDDER = tmp_path, "embeddinggemma"
    assert warming.in_web_server() is None


@pytest.mark.parametrize(
    "wrong", [PermissionError("modules.json"), ModuleNotFoundError("no package"), ValueError("no number")]
)
def test_whatever_is_wrong_with_a_model_the_web_process_starts(
    wrong: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_name: str | None = None) -> None:
        raise wrong

    monkeypatch.setattr(embedding, "get_embedder", fail)
    gunicorn_conf.post_worker_init(None)
    assert warming.in_web_server() is None


def test_gunicorn_loads_it_after_its_application_and_beside_it(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real model's description; only its weights are not loaded here."""
    settings.OSII_EMBEDDER = "minilm"
    described, loaded, may_load = minilm(), threading.Event(), threading.Event()
    monkeypatch.setattr(LocalModel, "warm", lambda self: may_load.wait(10) and loaded.set())
    monkeypatch.setattr(embedding, "get_embedder", lambda name=None: described)
    monkeypatch.setattr(warming, "WEB_AFTER_SECONDS", 0.0)
    gunicorn_conf.post_worker_init(None)
    assert not loaded.is_set()  # the hook has returned all the same
    may_load.set()
    assert loaded.wait(10)
