"""The pages that upload chats and show what became of them."""

import json
import re
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.models import Chat, Learner
from extraction.models import Run
from osii.imports import jobs, services, uploads
from osii.imports.attempts import claim
from osii.models import ChatImport, ImportedChat
from tests.osii import rows
from tests.osii.rows import staff_user
from tests.osii.test_imports import chats, executed, upload

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}
PERMISSIONS = ("add_chatimport", "add_run", "view_chatimport")


@pytest.fixture(autouse=True)
def home(settings, tmp_path: Path, rq_connection) -> Path:
    settings.OSII_HOME = tmp_path
    return tmp_path


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(staff_user(*PERMISSIONS))
    return client


def file(name: str = "chats.json", data: Any = None) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, json.dumps(chats() if data is None else data).encode())


def send(client: Client, **fields: Any) -> Any:
    given = {"submission": str(uuid.uuid4()), "files": [file()]} | fields | {"complete": "yes"}
    return client.post(reverse("import-create"), {name: value for name, value in given.items() if value is not None})


def left_behind() -> list[Path]:
    """Files that an upload that was refused should not have kept."""
    return [path for path in uploads.root().rglob("*") if path.is_file()] if uploads.root().exists() else []


def test_an_upload_becomes_an_import_and_its_page_shows_it(staff):
    response = send(staff, new_learner=" Ada ")
    row = ChatImport.objects.get()
    assert response["Location"] == reverse("import", args=[row.pk])
    assert (row.learner, row.dry_run, row.status) == ("Ada", False, "queued")
    assert row.created_by == User.objects.get()
    assert row.files == [{"name": "chats.json", "size": len(json.dumps(chats()))}]
    waiting = staff.get(response["Location"]).text
    assert "No worker is online" in waiting
    assert "hx-get" in waiting
    assert "Cancel the import" in waiting
    assert jobs.run_import(str(row.pk)) == "succeeded"
    html = staff.get(response["Location"]).text
    assert 'hx-trigger="every' not in html
    assert "Chat 1" in html
    assert reverse("chat", args=[Chat.objects.get(external_id="c1").pk]) in html
    assert f"{reverse('chats')}?learner={Learner.objects.get().pk}" in html
    assert "Extract what is due" in html
    assert "Import again" not in html


def test_several_files_and_a_chosen_learner(staff):
    learner = Learner.objects.create(name="Grace")
    send(staff, files=[file("a.json", chats(1)), file("b.json", chats(1, 2))], learner=str(learner.pk))
    executed(ChatImport.objects.get())
    assert Chat.objects.filter(learner=learner).count() == 2
    assert "2 files uploaded" in staff.get(reverse("import", args=[ChatImport.objects.get().pk])).text


def test_a_dry_run_stores_nothing_and_offers_to_import(staff):
    send(staff, dry_run="on")
    row = executed(ChatImport.objects.get())
    page = staff.get(reverse("import", args=[row.pk])).text
    assert "Nothing was stored." in page
    assert "Import these files" in page
    assert "See chats" not in page
    assert not Chat.objects.exists()
    again = staff.post(reverse("import-repeat", args=[row.pk]))
    real = ChatImport.objects.exclude(pk=row.pk).get()
    assert again["Location"] == reverse("import", args=[real.pk])
    assert not real.dry_run
    executed(real)
    assert Chat.objects.count() == 3
    refused = staff.post(reverse("import-repeat", args=[real.pk]), follow=True)
    assert "not kept any more" in refused.text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"files": None}, "Choose at least one file."),
        ({"submission": "x"}, "The form was not complete."),
        ({"new_learner": "x" * 201}, "at most 200 characters"),
        ({"new_learner": "a\x00b"}, "Null characters are not allowed"),
        ({"learner": str(uuid.uuid4())}, "Select a valid choice"),
    ],
)
def test_a_form_that_is_wrong_says_what(staff, fields, told):
    response = send(staff, **fields)
    assert response.status_code == 422
    assert told in response.text
    assert "choose the files again" in response.text
    assert not ChatImport.objects.exists()
    response.close()
    assert left_behind() == []


def test_a_learner_is_chosen_or_named_not_both(staff):
    learner = Learner.objects.create(name="Grace")
    response = send(staff, learner=str(learner.pk), new_learner="Ada")
    assert "Choose a learner or name a new one, not both." in response.text
    assert 'aria-invalid="true"' in response.text


def test_a_form_sent_twice_makes_one_import_but_other_files_another(staff):
    submission = str(uuid.uuid4())
    first, second = send(staff, submission=submission), send(staff, submission=submission)
    assert first["Location"] == second["Location"]
    assert "were already uploaded" in staff.get(first["Location"]).text
    other = send(staff, submission=submission, files=[file("other.json")])
    assert other["Location"] != first["Location"]
    assert ChatImport.objects.count() == 2


def test_too_much_is_refused_with_the_limit_and_nothing_is_kept(staff, settings):
    settings.OSII_UPLOAD_MAX_MB = 1
    response = send(staff, files=[SimpleUploadedFile("big.json", b" " * (2**20 + 1))])
    assert response.status_code == 413
    assert "larger than 1 MB together" in response.text
    assert not ChatImport.objects.exists()
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    many = send(staff, files=[file() for _ in range(3)])
    assert many.status_code == 413
    assert "Zip the folder" in many.text
    many.close()
    assert left_behind() == []


def test_a_body_that_broke_off_imports_nothing(staff):
    """What came before it was to be a dry run of three files."""
    body = {"submission": str(uuid.uuid4()), "files": [file("a.json"), file("b.json"), file("c.json")], "dry_run": "on"}
    encoded = encode_multipart(BOUNDARY, body)
    cut = encoded[: encoded.index(b"c.json") + 200]
    response = staff.generic("POST", reverse("import-create"), cut, content_type=MULTIPART_CONTENT)
    assert response.status_code == 400
    assert "broke off" in response.text
    assert not ChatImport.objects.exists()
    response.close()
    assert left_behind() == []


def test_a_full_disk_is_told(staff, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "keep", full)
    response = send(staff)
    assert response.status_code == 507
    assert "its disk may be full" in response.text
    assert not ChatImport.objects.exists()


def test_the_token_of_the_form_is_needed_although_the_body_is_read_late():
    client = Client(enforce_csrf_checks=True)
    client.force_login(staff_user(*PERMISSIONS))
    assert send(client).status_code == 403
    page = client.get(reverse("imports")).text
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token
    assert send(client, csrfmiddlewaretoken=token[1]).status_code == 302
    assert client.post(reverse("import-cancel", args=[ChatImport.objects.get().pk])).status_code == 403


def test_only_staff_with_the_permission_upload_and_look(client):
    row = upload()
    urls = [reverse("imports"), reverse("import", args=[row.pk]), reverse("import-live", args=[row.pk])]
    assert client.get(urls[0])["Location"] == f"/login/?next={urls[0]}"
    assert send(client)["Location"].startswith("/login/")
    client.force_login(staff_user(username="other"))
    assert [client.get(url).status_code for url in urls] == [403, 403, 403]
    assert "Import chats" not in client.get(reverse("chats")).text
    assert send(client).status_code == 403
    for name in ("import-cancel", "import-repeat", "import-extract"):
        assert client.post(reverse(name, args=[row.pk])).status_code == 403
    assert ChatImport.objects.count() == 1


def test_uploads_of_others_are_refused_before_their_body_is_read(client, monkeypatch):
    client.force_login(staff_user(username="other"))
    monkeypatch.setattr(uploads.ImportUploadHandler, "new_file", lambda *_: pytest.fail("a file was taken"))
    assert send(client).status_code == 403


def test_the_live_fragment_ends_with_the_report_and_stops_asking(staff):
    row = upload()
    url = reverse("import-live", args=[row.pk])
    assert staff.get(url)["Location"] == reverse("import", args=[row.pk])
    first = staff.get(url, **HTMX).text
    assert "import-report" not in first
    seen = re.search(r"seen=(\w+)", first)
    assert seen
    assert staff.get(url, {"seen": seen[1]}, **HTMX).status_code == 204
    claim(row.pk)
    ChatImport.objects.update(bytes_done=50, bytes_total=200)
    running = staff.get(url, {"seen": seen[1]}, **HTMX).text
    assert "25 %" in running
    ChatImport.objects.update(
        status="queued", attempt_token=None, lease_expires_at=None, queued_at=timezone.now() - timedelta(minutes=1)
    )
    executed(row)
    done = staff.get(url, {"seen": seen[1]}, **HTMX).text
    assert 'id="import-report" hx-swap-oob="true"' in done
    assert "hx-trigger" not in done
    assert "The import has ended: succeeded. 3 conversations." in done


def test_a_waiting_import_is_cancelled_from_its_page(staff):
    row = upload()
    response = staff.post(reverse("import-cancel", args=[row.pk]), follow=True)
    assert "Cancelled." in response.text
    assert "Import again" in response.text
    assert "it is cancelled" in staff.post(reverse("import-cancel", args=[row.pk]), follow=True).text


def test_extraction_starts_from_the_import(staff, settings):
    row = executed(upload())
    url = reverse("import-extract", args=[row.pk])
    assert "enough unread text" in staff.post(url, {"mode": "due"}, follow=True).text
    assert "Choose what to extract" in staff.post(url, {"mode": "x"}, follow=True).text
    assert not Run.objects.exists()
    told = staff.post(url, {"mode": "rest"}, follow=True).text
    assert f'3 runs requested. <a href="{reverse("activity")}?view=progress&amp;kind=chat">See them</a>' in told
    assert "No new run requested. 3 were active already." in staff.post(url, {"mode": "rest"}, follow=True).text
    assert "Extract all of it" in told
    assert Run.objects.filter(mode="rest").count() == 3
    first, *others = Chat.objects.all()
    for chat in others:
        rows.batch(chat)
    Run.objects.filter(status__in=Run.ACTIVE).update(status="aborted")
    told = staff.post(url, {"mode": "rest"}, follow=True).text
    assert f'1 run requested. <a href="{reverse("chat", args=[first.pk])}">See it</a>' in told
    rows.batch(first)
    page = staff.get(reverse("import", args=[row.pk])).text
    assert "Extract all of it" not in page and "See chats" in page
    assert services.request_reading(executed(upload(dry_run=True, learner="New")), "rest") == (0, 0)


SCRIPT = "<script>alert(1)</script>"


def test_what_files_say_is_shown_as_text(staff):
    data = {"chats": [chats(1)["chats"][0] | {"title": SCRIPT}, {"id": SCRIPT, "messages": SCRIPT}]}
    row = executed(upload((f"{SCRIPT}.json", json.dumps(data).encode()), (f"{SCRIPT}.txt", b"x"), learner=SCRIPT))
    assert row.problem_count == 1
    for url in (reverse("imports"), reverse("import", args=[row.pk])):
        html = staff.get(url).text
        assert "<script>alert" not in html
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", html)
        assert html.count("<table") == html.count("<caption")
        assert len(re.findall(r"<h1[ >]", html)) == 1
    assert "&lt;script&gt;" in html


def queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def test_pages_ask_as_often_for_thirty_rows_as_for_three(staff):
    small, large = executed(upload(("a.json", json.dumps(chats(3)).encode()))), upload()
    ImportedChat.objects.bulk_create(
        ImportedChat(chat_import=large, number=n, state="new", title=f"T{n}", chat=Chat.objects.first(), learner="Ada")
        for n in range(1, 31)
    )
    ChatImport.objects.filter(pk=large.pk).update(
        status="succeeded", finished_at=timezone.now(), counts=small.counts, problems=[{"file": "f"}] * 30
    )
    pages = [queries(staff, reverse("import", args=[row.pk])) for row in (small, large)]
    assert pages[0] == pages[1]
    few = queries(staff, reverse("imports"))
    for _ in range(20):
        ChatImport.objects.create(files=[{"name": "x", "size": 1}], created_by=User.objects.first())
    assert queries(staff, reverse("imports")) == few


def test_conversations_and_problems_are_paged_and_capped(staff):
    row = executed(upload())
    ImportedChat.objects.bulk_create(
        ImportedChat(chat_import=row, number=n, state="new", title=f"Title {n}") for n in range(4, 251)
    )
    ChatImport.objects.update(problems=[{"file": "f", "reason": "r"}], problem_count=5000)
    first, third = (staff.get(reverse("import", args=[row.pk]), {"page": page}).text for page in (1, 3))
    assert "1–100 of 250 conversations" in first
    assert "Title 250" in third
    assert "The first 1 of 5,000 problems." in first
    assert re.search(r'href="#problems-title".*<strong>5,000</strong>', first)


def test_empty_failed_and_absent(staff):
    assert "Nothing was uploaded yet" in staff.get(reverse("imports")).text
    row = executed(upload(("x.txt", b"hello")))
    page = staff.get(reverse("import", args=[row.pk])).text
    assert "Nothing could be imported" in page
    assert "No conversation was found" in page
    assert "x.txt" in page
    assert staff.get(reverse("import", args=[uuid.uuid4()])).status_code == 404
    assert staff.get(reverse("import-create"))["Location"] == reverse("imports")


def test_the_admin_shows_imports_and_changes_none(client):
    client.force_login(User.objects.create_superuser("root"))
    row = executed(upload())
    for name in ("chatimport", "importedchat"):
        assert client.get(reverse(f"admin:osii_{name}_changelist")).status_code == 200
        assert client.get(reverse(f"admin:osii_{name}_add")).status_code == 403
    page = client.get(reverse("admin:osii_chatimport_change", args=[row.pk])).text
    assert 'name="_save"' not in page
