"""What plans over all of the library read instead of the outputs: one row of each version, kept by the database."""

import random
import threading
from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection, transaction

from coverage.guards import allow_erase
from osii.library import invariants, methods
from osii.library.models import Made, Making, MakingSet, Output

from . import rows

KINDS = ("chunks", "enrichment", "synthesis")


def makings() -> dict[str, set[tuple[str, str]]]:
    """{version: its (kind, method version)}, as the memos say."""
    known = {one.pk: (one.kind, one.method_version) for one in Making.objects.all()}
    return {
        memo.extraction_id: {known[one] for one in memo.making_set.makings}
        for memo in Made.objects.select_related("making_set")
    }


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(2))
def test_memos_say_what_the_outputs_say_whatever_comes_and_goes(seed):
    chance = random.Random(seed)
    versions = [rows.version(rows.document(f"{number}.md")) for number in range(6)]
    wanted = {kind: methods.wanted(kind) for kind in KINDS}
    allow_erase()
    for _ in range(60):
        if chance.random() < 0.35 and (ids := list(Output.objects.values_list("pk", flat=True))):
            Output.objects.filter(pk__in=chance.sample(ids, min(len(ids), chance.randrange(1, 4)))).delete()
        else:
            failed = {"status": "failed", "error": "no"} if chance.random() < 0.2 else {}
            more = {"method_version": chance.choice("12"), **failed}
            version, kind = chance.choice(versions), chance.choice(KINDS)
            same = {"source_extraction": version, "kind": kind, "status": "succeeded"}
            if failed or not Output.objects.filter(**same, method_version=more["method_version"]).exists():
                rows.output(version, wanted[kind], **more)
        assert list(invariants.check_memos()) == []
    expected: dict[str, set[tuple[str, str]]] = {}
    for output in Output.objects.filter(status="succeeded"):
        expected.setdefault(output.source_extraction_id, set()).add((output.kind, output.method_version))
    assert makings() == expected != {}
    Output.objects.all().delete()
    assert not Made.objects.exists()


@pytest.mark.django_db
def test_many_outputs_of_one_statement_are_all_remembered():
    wanted, versions = methods.wanted("chunks"), [rows.version(rows.document(f"{number}.md")) for number in range(3)]
    made = [rows.output(versions[0], wanted, method_version=str(number)) for number in range(3)]
    fresh = [Output(document_id=one.document_id, source_extraction=one) for one in versions[1:] * 3]
    for number, output in enumerate(fresh):
        for name in ("kind", "method", "options_hash", "prompt_version", "status"):
            setattr(output, name, getattr(made[0], name))
        output.method_version = str(number // 2)
    Output.objects.bulk_create(fresh)
    assert len({memo.making_set_id for memo in Made.objects.all()}) == 1
    assert list(makings().values()) == [{("chunks", "0"), ("chunks", "1"), ("chunks", "2")}] * 3


@pytest.mark.django_db
def test_makings_never_change_and_a_wrong_memo_is_told():
    rows.output(rows.version(rows.document()), methods.wanted("chunks"))
    for attempt in (
        lambda: Making.objects.update(method="other"),
        lambda: Making.objects.all().delete(),
        lambda: MakingSet.objects.update(makings=[7]),
        lambda: MakingSet.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
    Made.objects.all().delete()
    assert len(list(invariants.check_memos())) == 1


LOCK = "PERFORM FROM extraction_extractionversion WHERE id = ANY (versions) ORDER BY id FOR NO KEY UPDATE;"


@pytest.fixture
def without_the_lock(transactional_db) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('osii_outputs_changed'::regproc)")
        whole = cursor.fetchone()[0]
        assert LOCK in whole
        cursor.execute(whole.replace(LOCK, ""))
        yield
        cursor.execute(whole)


def race() -> list[str]:
    """Two transactions make something of one version; what its memo lacks then."""
    version = rows.version(rows.document())
    done = threading.Event()

    def rival() -> None:
        try:
            with transaction.atomic():
                rows.output(version, methods.wanted("enrichment"))
                done.wait(0.3)
        finally:
            connection.close()

    with transaction.atomic():
        rows.output(version, methods.wanted("chunks"))
        thread = threading.Thread(target=rival)
        thread.start()
        done.wait(0.3)  # longer than the rival takes to its own memo
    thread.join()
    return list(invariants.check_memos())


@pytest.mark.django_db(transaction=True)
def test_two_at_once_do_not_overlook_each_other():
    assert race() == []


def test_without_the_lock_they_would(without_the_lock):
    assert len(race()) == 1
