"""What the database itself refuses of runs, items and steps."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from osii.models import Collection, ProcessingItem, ProcessingRun, ProcessingStep

from . import rows

pytestmark = pytest.mark.django_db


def refused(text: str, change, *arguments, **named) -> None:
    with pytest.raises(DatabaseError, match=text), transaction.atomic():
        change(*arguments, **named)


def test_a_run_stays_what_was_asked():
    run = rows.run(rows.document())
    for field, value in {"request": {"all": True}, "operations": [], "plan": {"x": 1}, "actor": "else"}.items():
        refused("immutable", ProcessingRun.objects.filter(pk=run.pk).update, **{field: value})
    refused("append-only", ProcessingRun.objects.filter(pk=run.pk).delete)


def test_items_and_steps_stay_what_they_are_of():
    run = rows.run(rows.document())
    item = run.items.get()
    step = ProcessingStep.objects.create(item=item, step="synthesis", attempt=1)
    refused("immutable", run.items.update, steps=["chunks"])
    refused("immutable", run.items.update, position=7)
    refused("immutable", ProcessingStep.objects.filter(pk=step.pk).update, step="chunks")
    refused("planned", ProcessingStep.objects.create, item=item, step="chunks", attempt=1)
    connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")  # else rows of this test wait for their checks
    for table in ("osii_processingrun", "osii_processingitem", "osii_processingstep"):
        refused("truncated", connection.cursor().execute, f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_a_run_with_something_left_to_do_does_not_end(status):
    run = rows.run(rows.document(), cancel_requested_at=timezone.now())
    ended = {"status": status, "finished_at": timezone.now()}
    refused("no items left", ProcessingRun.objects.filter(pk=run.pk).update, **ended)
    run.items.update(status="succeeded")
    assert ProcessingRun.objects.filter(pk=run.pk).update(**ended) == 1
    refused("active run only", run.items.update, status="queued")


def test_an_item_is_running_exactly_while_it_is_leased():
    item = rows.run(rows.document()).items.get()
    refused("leased_while_running", ProcessingItem.objects.filter(pk=item.pk).update, status="running")
    rows.claimed(item)
    refused("leased_while_running", ProcessingItem.objects.filter(pk=item.pk).update, status="queued")


def test_what_went_wrong_is_said():
    item = rows.run(rows.document()).items.get()
    refused("says_why", ProcessingItem.objects.filter(pk=item.pk).update, status="failed")
    refused("says_why", ProcessingStep.objects.create, item=item, step="synthesis", attempt=1, error="no reason")
    refused(
        "says_why", ProcessingStep.objects.create,
        item=item, step="synthesis", attempt=1, status="failed", finished_at=timezone.now(),
    )  # fmt: skip


def test_a_document_is_once_in_a_run():
    one = rows.document()
    with pytest.raises(IntegrityError, match="processing_document_once_per_run"):
        rows.run(one, one)


def test_a_cancelled_run_was_asked_to_stop():
    run = rows.run()
    refused(
        "cancelled_was_asked", ProcessingRun.objects.filter(pk=run.pk).update,
        status="cancelled", finished_at=timezone.now(),
    )  # fmt: skip


def test_collection_names_are_unique_in_any_case():
    Collection.objects.create(name="Physics")
    refused("collection_name_once", Collection.objects.create, name="physics")
    refused("collection_has_a_name", Collection.objects.create, name="  ")
