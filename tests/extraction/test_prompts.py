"""Which instructions read a batch, and what was read under older ones: derived, and a reason to read it again."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from coverage.models import Chat, CoverageEntry
from coverage.services import put_messages
from extraction.llm import prompt, retrying
from extraction.models import Batch
from extraction.prompts import OlderReading, chats_read_by_older, is_older, older_batches, older_reading
from extraction.repair import Scope, preview_reread, request_reread
from extraction.running import runs
from extraction.services import request_run
from extraction.workers.rules import RulesWorker
from tests import factories
from tests.extraction.llm_runs import execute, reads_all, states, tea
from tests.extraction.scripted_endpoint import ScriptedEndpoint, serving
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def serve(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ScriptedEndpoint]]:
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.01)
    with serving(settings) as start:
        yield start


def read(chat: Chat) -> None:
    assert runs.execute(request_run(chat.pk, "rest", "rules", enqueue=False).pk).status == "succeeded"


def older(chat: Chat) -> int:
    return older_reading(chat.pk).messages


def test_a_batch_records_the_prompt_and_its_text_or_the_worker(serve: Any) -> None:
    serve(reads_all)
    execute(factories.chat(tea()))
    read(factories.chat(tea(1)))
    assert list(Batch.objects.order_by("created_at").values_list("worker", "prompt_version", "prompt_hash")) == [
        ("llm", "extract_v2", prompt.content_hash()),
        ("rules", RulesWorker.version, ""),
    ]
    assert not older_batches().exists()


def test_a_new_prompt_and_an_edited_one_make_earlier_batches_older(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(reads_all)
    chat = factories.chat(tea())
    execute(chat)
    with monkeypatch.context() as now:
        now.setattr(prompt, "content_hash", lambda: "f" * 32)
        assert list(older_batches()) == list(Batch.objects.all())
        assert is_older(Batch.objects.get())
    with monkeypatch.context() as now:
        now.setattr(prompt, "VERSION", "extract_v3")
        assert is_older(Batch.objects.get()) and older(chat) == 1
    assert not is_older(Batch.objects.get()) and not older(chat)


def test_a_new_version_of_the_rules_does_so_for_what_they_read_only(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(reads_all)
    by_model, by_rules = factories.chat(tea()), factories.chat(tea(1))
    execute(by_model)
    read(by_rules)
    monkeypatch.setattr(RulesWorker, "version", "rules-next")
    assert chats_read_by_older() == [by_rules.pk]
    assert older_reading(by_rules.pk) == OlderReading(1, 10)


def test_what_is_not_known_is_not_older(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = factories.chat(tea())
    read(chat)
    Batch.objects.update(prompt_version="")
    monkeypatch.setattr(RulesWorker, "version", "rules-next")
    assert not older_batches().exists() and not is_older(Batch.objects.get())
    Batch.objects.update(prompt_version="rules-1", worker="gone")
    assert not older_batches().exists() and not is_older(Batch.objects.get())


def test_reading_again_ends_it_and_only_what_was_read_so_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = factories.chat(tea(0), tea(1))
    read(chat)
    monkeypatch.setattr(RulesWorker, "version", "rules-next")
    put_messages(chat.pk, [tea(2)])
    read(chat)
    assert older(chat) == 2
    effect = preview_reread(chat.pk, Scope(older=True))
    assert (effect.messages, effect.releases, effect.copies) == (2, 2, 0)
    assert request_reread(chat.pk, Scope(older=True)) == effect
    assert states(chat) == ["reopened", "reopened", "covered"]
    assert older(chat) == 0
    assert request_reread(chat.pk, Scope(older=True)).releases == 0
    read(chat)
    assert states(chat) == ["covered"] * 3
    assert older(chat) == 0 and chats_read_by_older() == []
    assert CoverageEntry.objects.filter(kind="release").count() == 2


def test_what_was_edited_away_or_waits_anyway_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = factories.chat(tea(0), tea(1))
    read(chat)
    monkeypatch.setattr(RulesWorker, "version", "rules-next")
    put_messages(chat.pk, [message("m0", "Rewritten since.")])
    assert older(chat) == 1
    request_reread(chat.pk, Scope(message_id="m1"))
    assert older(chat) == 0
    assert chats_read_by_older() == []


def test_an_older_scope_stands_alone() -> None:
    chat = factories.chat(tea())
    with pytest.raises(ValueError, match="not both"):
        preview_reread(chat.pk, Scope(first=1, older=True))
    assert preview_reread(chat.pk, Scope(older=True)).releases == 0


def test_what_was_read_before_an_import_is_not_older(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = factories.chat(tea())
    read(chat)
    monkeypatch.setattr(RulesWorker, "version", "rules-next")
    last = CoverageEntry.objects.get()
    CoverageEntry.objects.create(chat=chat, fingerprint=last.fingerprint, tokens=10, kind="cover", batch=uuid4())
    assert older(chat) == 0
