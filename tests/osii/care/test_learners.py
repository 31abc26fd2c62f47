"""A learner's data goes out whole and readable, and goes for good: no table, file or key holds a word of it."""

import csv
import fnmatch
import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from coverage.models import Chat, Learner, Message
from coverage.services import get_or_create_learner
from extraction.documents import services
from extraction.models import Document
from graphctx import scan, steers
from graphctx.embedding import active_space
from osii import tokens
from osii.care import exporting, memory
from osii.care.models import Erasure
from osii.imports import uploads
from osii.models import ChatImport, ImportedChat, ProcessingItem, ProcessingRun
from tests import factories

SECRET = "xylotrampe"
pytestmark = pytest.mark.slow


@pytest.fixture
def ada(home: Path, tmp_path: Path, rq_connection: object) -> Learner:
    """A learner named, saying and owning a word that nobody else has, in every place that takes one."""
    learner = get_or_create_learner(f"Ada {SECRET}")
    said = f"I prefer {SECRET} to coffee in the morning. I decided to buy a {SECRET} pump in March."
    chat = factories.chat(
        factories.message("a", said, metadata={"note": SECRET}),
        factories.message("b", f"Noted: {SECRET}.", "assistant"),
        learner=learner,
        title=f"=HYPERLINK({SECRET})",
        settings={"model": SECRET},
    )
    call_command("extract_chats", "--all", "--rest", "--json", stdout=io.StringIO())
    steers.Steer.objects.filter(chat=chat).delete()
    steers.Steer.objects.create(id=steers.steer_id(chat.pk), chat=chat, budget=1024, status="empty", topic=SECRET)
    source = tmp_path / f"{SECRET}.md"
    source.write_text(f"# {SECRET}\n\nThe moon causes the {SECRET}.\n")
    file_id = services.add_file(source, learner=learner).file_id
    services.extract(file_id)
    _traces(learner, chat, file_id)
    source.unlink()
    return learner


def _traces(learner: Learner, chat: Chat, file_id: str) -> None:
    """What imports, processing and the admin keep."""
    done = ChatImport.objects.create(
        learner=learner.name, files=[{"name": f"{SECRET}.zip", "size": 1}], status="failed"
    )
    (uploads.folder_of(done.pk)).mkdir(parents=True)
    (uploads.folder_of(done.pk) / "1").write_text(SECRET)
    shared = ChatImport.objects.create(
        files=[{"name": f"{SECRET}.zip", "size": 1}], status="succeeded", problems=[SECRET]
    )
    names = {"title": SECRET, "state": "new", "learner": learner.name}
    ImportedChat.objects.create(chat_import=shared, number=1, chat=chat, **names)
    ImportedChat.objects.create(chat_import=shared, number=2, title="Other", state="new", learner="Bo")
    now = timezone.now()
    run = ProcessingRun.objects.create(
        actor="staff", learner=learner, request={"learner": learner.name}, status="running", started_at=now
    )
    ProcessingItem.objects.create(run=run, position=1, path=f"/x/{SECRET}.md", steps=["add"])
    ProcessingItem.objects.update(status="cancelled")
    ProcessingRun.objects.update(status="cancelled", finished_at=now, cancel_requested_at=now)
    staff = User.objects.create_superuser("root")
    for row in (chat, Document.objects.get(pk=file_id)):
        kind = ContentType.objects.get_for_model(row)
        LogEntry.objects.create(
            user=staff,
            content_type=kind,
            object_id=str(row.pk),
            object_repr=str(row),
            action_flag=2,
            change_message=SECRET,
        )
    tokens.issue(learner=learner, name=SECRET)


def places(home: Path) -> Iterator[str]:
    """Every table and file that holds the word."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" AS one WHERE one::text ILIKE %s', [f"%{SECRET}%"])
            if cursor.fetchone()[0]:
                yield table
    for path in home.rglob("*"):
        if SECRET in path.name or (path.is_file() and SECRET.encode() in path.read_bytes()):
            yield str(path.relative_to(home))


def test_nothing_of_an_erased_learner_is_left_anywhere(ada: Learner, home: Path, rq_connection: Any) -> None:
    bo = factories.chat(factories.message("a", "I prefer tea."), learner="Bo")
    found = set(places(home))
    wanted = {
        *("coverage_learner", "coverage_chat", "coverage_message", "extraction_referenceenvironment"),
        *("extraction_candidate", "graphctx_proposition", "graphctx_instance", "graphctx_steer", "extraction_document"),
        *("osii_chatimport", "osii_importedchat", "osii_processingrun", "osii_processingitem", "django_admin_log"),
        *("osii_apitoken", "extraction_documentsource"),
    }
    assert wanted <= found
    assert any(place.startswith("store/") for place in found)
    space = active_space()
    assert len(scan.cache.get(space, ada.pk)) > 0
    call_command("reconcile", "--dry-run", stdout=io.StringIO())

    before = Message.objects.count()
    call_command("erase_learner", ada.name, "--dry-run", stdout=io.StringIO())
    with pytest.raises(CommandError, match="--yes"):
        call_command("erase_learner", ada.name)
    assert Message.objects.count() == before
    out = io.StringIO()
    call_command("erase_learner", ada.name, "--yes", "--json", stdout=out)

    assert list(places(home)) == []
    assert not any(SECRET.encode() in (rq_connection.dump(key) or b"") for key in rq_connection.keys("*"))
    # The server's log of commands is written anew, without them.
    assert rq_connection.info("commandstats")["cmdstat_bgrewriteaof"]["calls"] >= 1
    assert scan.cache.nbytes == 0
    assert list(Message.objects.values_list("chat", flat=True)) == [bo.pk]
    assert ImportedChat.objects.get().learner == "Bo"
    record = Erasure.objects.get()
    assert json.loads(out.getvalue())["counts"] == record.counts
    assert (record.learner, record.counts["chats"], record.counts["documents"]) == (ada.pk, 1, 1)
    assert record.counts["propositions"] > 0
    call_command("check_invariants", stdout=io.StringIO())


def test_another_process_forgets_what_was_erased_here(ada: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = memory.Watch()
    watch.look()
    space = active_space()
    scan.cache.get(space, ada.pk)
    Erasure.objects.create(learner=ada.pk, actor="another process")
    watch.look()
    assert scan.cache.nbytes > 0  # asked a moment ago
    later = memory.time.monotonic() + timedelta(seconds=memory.EVERY_SECONDS).total_seconds()
    monkeypatch.setattr(memory.time, "monotonic", lambda: later)
    watch.look()
    assert scan.cache.nbytes == 0
    monkeypatch.undo()
    active = ChatImport.objects.create(learner=ada.name, files=[])
    with pytest.raises(CommandError, match=f"import {active.pk}"):
        call_command("erase_learner", ada.name, "--yes")
    assert Chat.objects.filter(learner=ada).exists()


REMEMBERS_NO_TEXT = {"_badge", "cues_for", "instructions", "context_frame"}
"""Caches whose arguments are words of ours."""


def test_no_cache_of_texts_is_left_out_when_a_process_forgets(settings: Any) -> None:
    remembering = re.compile(r"^ *@(?:functools\.)?(?:lru_)?cache(?:\([^)]*\))?\n *def (\w+)\(\s*[^)\s]", re.MULTILINE)
    found = {
        name
        for package in ("coverage", "graphctx", "extraction", "osii")
        for path in (settings.BASE_DIR / package).rglob("*.py")
        for name in remembering.findall(path.read_text())
    }
    assert found == {cached.__name__ for cached in memory.TEXTS} | REMEMBERS_NO_TEXT
    urlsplit(f"/propositions/?q={SECRET}")
    fnmatch.fnmatch("notes.md", f"*{SECRET}*")
    memory.forget()
    assert urlsplit.cache_info().currsize == fnmatch._compile_pattern.cache_info().currsize == 0
    assert all(cached.cache_info().currsize == 0 for cached in memory.TEXTS)


def test_an_export_is_whole_and_its_chats_can_be_imported_again(ada: Learner, tmp_path: Path) -> None:
    target = tmp_path / "out" / "ada.zip"
    with pytest.raises(CommandError, match="no folder"):
        call_command("export_learner", ada.name, str(target))
    target.parent.mkdir()
    call_command("export_learner", ada.name, str(target), stdout=io.StringIO())
    with pytest.raises(CommandError, match="exists already"):
        call_command("export_learner", ada.name, str(target))
    with pytest.raises(CommandError, match=f"there is no learner 'ada'; there is '{ada.name}'"):
        call_command("export_learner", "ada", str(target))
    with zipfile.ZipFile(target) as archive:
        claims = json.loads(archive.read("propositions.json"))
        assert claims
        assert all(claim["evidence"] for claim in claims)
        rows = list(csv.reader(io.StringIO(archive.read("propositions.csv").decode("utf-8-sig"))))
        assert len(rows) == len(claims) + 1
        names = archive.namelist()
        chats = tmp_path / "chats.jsonl"
        chats.write_bytes(archive.read("chats.jsonl"))
    assert any(name.endswith(f"/{SECRET}.md") for name in names)
    assert any(name.endswith("/as read/text.txt") for name in names)
    call_command("import_chats", str(chats), "--learner", "Bo", stdout=io.StringIO())
    told = Message.objects.order_by("position").values_list("message_id", "fingerprint", "parts", "metadata")
    assert list(told.filter(chat__learner__name="Bo")) == list(told.filter(chat__learner=ada))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1"])
def test_no_cell_is_run_as_a_formula(text: str) -> None:
    assert exporting.safe_cell(text) == f"'{text}"


def test_other_cells_stay_as_they_are() -> None:
    assert [exporting.safe_cell(value) for value in ("a=b", "tea", "", 5, None)] == ["a=b", "tea", "", 5, None]
