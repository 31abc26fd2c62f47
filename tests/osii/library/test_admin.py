"""The admin of outputs and runs. Which method makes a kind of output is chosen in the admin, within what the method takes."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from osii.library import jobs, methods, outputs, runs
from osii.library.models import OutputSetting
from osii.library.requests import Request, Scope
from tests.osii.library import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def post(admin: Client, **fields: str) -> str:
    form = {"kind": "chunks", "method": "sentences", "options": "{}", "chosen": "on"} | fields
    return admin.post(reverse("admin:osii_outputsetting_add"), form, follow=True).content.decode()


def test_options_are_checked_and_then_wanted(admin):
    assert "no method &#x27;novel&#x27;" in post(admin, method="novel")
    assert "no option &#x27;length&#x27;" in post(admin, options='{"length": 3}')
    assert "chunk_size is 10" in post(admin, options='{"chunk_size": 10}')
    assert "Give an object" in post(admin, options="[1]")
    assert not OutputSetting.objects.exists()
    post(admin, options='{"chunk_size": 800}')
    assert methods.wanted("chunks").options == {"chunk_size": 800, "chunk_overlap": 100}
    assert (
        "Another method of this kind is chosen" in post(admin, method="sentences") or OutputSetting.objects.count() == 1
    )


def test_an_enrichment_that_is_chosen_is_what_current_asks_for(admin, document):
    outputs.make(document.pk, "enrichment")
    post(admin, kind="enrichment", method="entities")
    assert methods.chosen("enrichment") == "entities"
    assert outputs.current(document, "enrichment") is None


def test_the_lists_open(admin, document):
    outputs.make(document.pk, "chunks")
    for model in ("output", "chunk", "outputsetting"):
        assert admin.get(reverse(f"admin:osii_{model}_changelist")).status_code == 200
    assert admin.get(reverse("admin:osii_output_add")).status_code == 403


def test_runs_items_and_steps_are_looked_at_with_their_plan(admin, document):
    run, _ = runs.create(Request(scope=Scope(file_ids=(document.pk,)), enricher_name="statistics"), actor="tests")
    item = run.items.get()
    jobs.execute(item.pk)
    for name, row in (
        ("processingrun", run), ("processingitem", item), ("processingstep", item.step_rows.get()),
    ):  # fmt: skip
        listed = admin.get(reverse(f"admin:osii_{name}_changelist"), {"q": "notes"})
        opened = admin.get(reverse(f"admin:osii_{name}_change", args=[row.pk]))
        assert (listed.status_code, opened.status_code) == (200, 200)
        assert 'name="_save"' not in opened.text
        assert admin.get(reverse(f"admin:osii_{name}_add")).status_code == 403
        assert admin.get(reverse(f"admin:osii_{name}_delete", args=[row.pk])).status_code == 403
    shown = admin.get(reverse("admin:osii_processingrun_change", args=[run.pk])).text
    assert "<th>Enrichment</th><td>1</td><td>0</td><td>0</td><td>0</td>" in shown
    assert reverse("processing", args=[run.pk]) in shown
    of_run = admin.get(reverse("admin:osii_processingitem_changelist"), {"run__id__exact": str(run.pk)})
    assert "notes.md" in of_run.text
    assert reverse("processing", args=[run.pk]) in of_run.text
    few = _queries(admin)
    for number in range(5):
        rows.run(rows.document(f"{number}.md"))
    assert _queries(admin) == few


def _queries(admin: Client) -> list[int]:
    counts = []
    for name in ("processingrun", "processingitem", "processingstep"):
        with CaptureQueriesContext(connection) as captured:
            assert admin.get(reverse(f"admin:osii_{name}_changelist")).status_code == 200
        counts.append(len(captured))
    return counts
