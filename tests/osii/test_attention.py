"""What the home page names as failed, however often one chat has failed."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from coverage import summaries
from extraction.models import Batch, Run
from osii.models import ChatImport
from osii.web.attention import failed_imports, failed_runs
from osii.web.chat_list import ChatFilter
from tests.osii import rows

pytestmark = pytest.mark.django_db


def failures(count: int) -> None:
    """A chat whose ``count`` runs all failed, one after the other."""
    chat, now = rows.chat(1), timezone.now()
    Run.objects.bulk_create(
        Run(
            chat=chat,
            mode="rest",
            status="failed",
            worker="rules",
            error="x",
            queued_at=now - timedelta(seconds=number),
        )
        for number in range(count)
    )


def handled(asked: QuerySet[Any]) -> int:
    """How many rows all steps of a query together gave on or threw away, as the database itself counted."""

    def steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield step
        for inner in step.get("Plans", ()):
            yield from steps(inner)

    (told,) = json.loads(asked.explain(format="json", analyze=True))
    counted = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter")
    return sum(step["Actual Loops"] * sum(step.get(name, 0) for name in counted) for step in steps(told["Plan"]))


def test_many_failures_of_a_chat_are_not_compared_with_each_other():
    failures(1_000)
    rows.run(rows.chat(), "failed")
    assert failed_runs().count() == 2
    by_chat = ChatFilter({"state": "failed"}, summaries.listed()[0]).qs
    for asked in (failed_runs(), by_chat):
        assert handled(asked) < 20_000


def test_a_failure_counts_until_another_run_follows_and_not_for_a_parked_batch():
    alone, followed, parked = (rows.run(rows.chat(title=name), "failed") for name in ("alone", "followed", "parked"))
    rows.run(followed.chat, "queued", queued_at=timezone.now() + timedelta(seconds=1))
    rows.batch(parked.chat, Batch.Status.PARKED, run=parked)
    assert list(failed_runs()) == [alone]


def test_a_failed_import_counts_until_its_files_are_imported_again():
    now = timezone.now()
    failed = {"status": "failed", "files": [{"name": "a.zip", "size": 1}]}
    alone = ChatImport.objects.create(status="failed", files=[{"name": "b.zip", "size": 1}], finished_at=now)
    ChatImport.objects.create(**failed, finished_at=now)
    ChatImport.objects.create(**failed, dry_run=True, finished_at=now, created_at=now + timedelta(minutes=1))
    assert failed_imports().count() == 2
    again = ChatImport.objects.create(**failed, finished_at=now, created_at=now + timedelta(minutes=2))
    assert set(failed_imports()) == {alone, again}
    ChatImport.objects.filter(pk=again.pk).update(status="succeeded")
    assert set(failed_imports()) == {alone}
