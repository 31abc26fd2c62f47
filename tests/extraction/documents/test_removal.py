"""Removing documents and old versions: on request only, recorded, nothing left and nothing else touched."""

import tomllib
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from coverage.models import Learner
from extraction import invariants as extraction_invariants
from extraction.documents import invariants, needs, reading, removal, retention, selectors, services
from extraction.documents.errors import PromotionRefused, RemovalRefused, UnknownDocument
from extraction.documents.store import REMOVING
from extraction.models import Batch, Document, DocumentSource, ExtractionVersion, Promotion, Removal
from graphctx.models import Instance, Proposition

from .conftest import tree

pytestmark = pytest.mark.django_db


@pytest.fixture
def versions(extracted) -> list[ExtractionVersion]:
    """The primary, two older variants and a failed attempt of one document, oldest first."""
    first = extracted()
    file_id = first.document_id
    second = services.extract(file_id, "upper", "save_variant")
    third = services.extract(file_id, "upper", "make_primary", options={"copies": 2}, actor="Ada")
    failed = services.extract(file_id, "encrypted")
    return [first, second, third, failed]


def learned(version: ExtractionVersion, claim: str, *, live: bool = True, quote: str = "One") -> Proposition:
    """A proposition whose one piece of evidence was read in this version."""
    learner, _ = Learner.objects.get_or_create(name="Ada")
    proposition = Proposition.objects.create(learner=learner, text=claim, identity=claim, kind="fact")
    Instance.objects.create(
        proposition=proposition, document_id=version.document_id, extraction_id=version.pk, char_start=0, char_end=3,
        quote=quote, speaker="document", live=live,
    )  # fmt: skip
    return proposition


def test_a_document_goes_whole(store, versions, write):
    file_id = versions[0].document_id
    other = services.extract(services.add_file(write("other.txt", "Something else.")).file_id)
    services.add_file(write("copy.txt", "One line.\n\nAnother.\n"))
    alone = learned(versions[2], "Only this document says so.")
    shared = learned(versions[2], "Two documents say so.")
    Instance.objects.create(
        proposition=shared, document_id=other.document_id, extraction_id=other.pk, char_start=0, char_end=4, quote="Some",
        speaker="document",
    )  # fmt: skip
    revision = Learner.objects.get().graph_revision
    removal = services.remove_document(file_id, "Ada", "asked to")
    assert not store.has_object(file_id)
    assert list(store.scratch.iterdir()) == []
    assert list(Document.objects.values_list("pk", flat=True)) == [other.document_id]
    assert ExtractionVersion.objects.count() == DocumentSource.objects.count() == Promotion.objects.count() == 1
    assert list(Proposition.objects.values_list("pk", flat=True)) == [shared.pk]
    assert alone.pk != shared.pk
    assert Instance.objects.get().document_id == other.document_id
    assert Learner.objects.get().graph_revision == revision + 1
    stored = Removal.objects.get()
    assert stored == removal
    assert (stored.what, stored.file_id, stored.actor, stored.reason) == ("document", file_id, "Ada", "asked to")
    assert set(stored.versions) == {version.pk for version in versions}
    assert {name: stored.counts[name] for name in ("sources", "versions", "instances", "propositions")} == {
        "sources": 2, "versions": 4, "instances": 2, "propositions": 1,
    }  # fmt: skip
    with pytest.raises(UnknownDocument):
        services.remove_document(file_id, "Ada")
    with pytest.raises(UnknownDocument):
        selectors.primary_text(file_id)
    assert list(services.reconcile_all()) == []
    assert list(invariants.check()) == []


def test_what_a_learner_knows_from_a_document_goes_with_it(store, write):
    ada = Learner.objects.create(name="Ada")
    path = write(
        "metals.txt", "Copper melts at about 1,085 degrees Celsius.\n\nLead melts at about 327 degrees Celsius.\n"
    )
    file_id = services.add_file(path, ada).file_id
    version = services.extract(file_id)
    reading.read(version.document, version.pk, selectors.primary_text(file_id), "rules")
    assert Instance.objects.filter(document_id=file_id).count() == Proposition.objects.filter(learner=ada).count() > 0
    removal = services.remove_document(file_id, "Ada")
    assert removal.counts["propositions"] > 0
    assert not Proposition.objects.exists()
    assert not Batch.objects.exists()
    assert list(invariants.check()) == list(extraction_invariants.check()) == []


def test_a_removed_document_can_be_added_again(store, versions, write):
    file_id = versions[0].document_id
    services.remove_document(file_id, "Ada")
    assert services.add_file(write("notes.txt", "One line.\n\nAnother.\n")).status == "added"
    assert services.extract(file_id).pk not in {version.pk for version in versions}
    assert list(invariants.check()) == []


def test_what_was_replaced_stays_replaced_when_the_one_between_goes(store, write):
    """In the database, by the narrowed list of the planner, and on disk once the store is reconciled."""
    path = write("a.txt", "one")
    first = services.add_file(path).file_id
    path.write_text("two")
    second = services.add_file(path).file_id
    path.write_text("three")
    third = services.add_file(path).file_id
    services.remove_document(second, "keeper")
    assert DocumentSource.objects.get(document=third).replaces_id == first
    assert [document.pk for document in selectors.source_changed()] == [first]
    list(services.reconcile_all())
    meta = tomllib.loads((store.object_dir(third) / "meta.toml").read_text())
    assert meta["sources"][0]["replaces"] == first
    assert list(services.reconcile_all()) == []


def test_a_file_that_came_back_replaces_nothing_when_the_one_between_goes(store, write):
    path = write("a.txt", "one")
    first = services.add_file(path).file_id
    path.write_text("two")
    second = services.add_file(path).file_id
    path.write_text("one")
    assert services.add_file(path).replaces == second
    services.remove_document(second, "keeper")
    assert DocumentSource.objects.get(document=first).replaces_id is None


def test_a_document_removed_while_it_is_added_is_added_whole(store, extracted, write, monkeypatch):
    """The add saw the bytes in the store and copied nothing; they go before it has the lock."""
    version = extracted("a.txt", "some text")
    place = services.add_file.__globals__["finish_removal"]
    removed = []

    def remove_first(store, file_id):
        if not removed:
            removed.append(file_id)
            monkeypatch.setattr("extraction.documents.intake.finish_removal", place)
            store.discard(store.object_dir(file_id))
            with transaction.atomic():
                removal.allow_erase()
                Document.objects.filter(pk=file_id).update(primary=None)
                Document.objects.get(pk=file_id).delete()
        place(store, file_id)

    monkeypatch.setattr("extraction.documents.intake.finish_removal", remove_first)
    assert services.add_file(write("a.txt", "some text")).status == "added"
    assert removed == [version.document_id]
    assert store.source_path(version.document_id).read_text() == "some text"
    assert list(invariants.check()) == []


def test_a_document_removed_while_it_is_extracted(store, add, bad_extractors, monkeypatch):
    file_id = add("a.txt", "some text")
    run = services.extract.__globals__["isolation"].run

    def remove_meanwhile(*arguments, **values):
        summary = run(*arguments, **values)
        services.remove_document(file_id, "Ada")
        return summary

    monkeypatch.setattr("extraction.documents.versions.isolation.run", remove_meanwhile)
    with pytest.raises(UnknownDocument):
        services.extract(file_id)
    assert not store.has_object(file_id)
    assert list(invariants.check()) == []


def test_versions_go_with_their_files_and_outputs(store, versions):
    first, second, third, failed = versions
    folder = store.object_dir(first.document_id)
    for name in (
        "syntheses/extractive--{}.txt",
        "syntheses/extractive--{}.json",
        "enrichments/entities--names--{}.json",
    ):
        for version in (second, third):
            path = folder / name.format(version.pk)
            path.parent.mkdir(exist_ok=True)
            path.write_text("{}")
    removal = services.remove_versions(first.document_id, [second.pk, failed.pk], "Ada")
    assert removal.versions == [second.pk, failed.pk]
    assert set(first.document.versions.values_list("pk", flat=True)) == {first.pk, third.pk}
    assert store.version_names(first.document_id) == sorted([first.pk, third.pk])
    left = [path.name for path in folder.rglob("*--*") if path.is_file() and path.parent.parent == folder]
    assert len(left) == 3
    assert all(third.pk in name for name in left)
    assert not (folder / REMOVING).exists()
    assert second.pk not in store.index_path(first.document_id).read_text()
    assert list(services.reconcile_all()) == []
    assert list(invariants.check()) == []


def test_what_may_not_go(store, versions):
    first, second, third, _ = versions
    file_id, before = first.document_id, tree(store.root)
    learned(second, "Something read in the second.")
    for ids, reason in {
        (third.pk,): "is_primary",
        (second.pk, third.pk): "is_primary",
        (first.pk,): "is_needed",  # taking the promotion back returns to it
        (second.pk,): "is_needed",  # live evidence
        (second.pk, "text-20200101000000-00000000"): "unknown_version",
        (): "unknown_version",
    }.items():
        with pytest.raises(RemovalRefused) as refused:
            services.remove_versions(file_id, list(ids), "Ada")
        assert refused.value.reason == reason
    with pytest.raises(RemovalRefused, match="primary"):
        services.remove_versions(file_id, [third.pk], "Ada", even_needed=True)
    assert tree(store.root) == before
    assert not Removal.objects.exists()
    assert needs.needed_versions(ExtractionVersion.objects.all()) == {
        first.pk: needs.ROLLBACK, second.pk: needs.EVIDENCE, third.pk: needs.PRIMARY,
    }  # fmt: skip


def test_history_and_evidence_outlive_a_needed_version(store, versions):
    first, second, third, _ = versions
    # Read in the second, and its quote stands in the primary too: evidence that is live.
    text = selectors.primary_text(first.document_id)
    learned(second, "Something read in the second.", quote=text[:3])
    services.remove_versions(first.document_id, [first.pk, second.pk], "Ada", even_needed=True)
    assert list(Promotion.objects.order_by("created_at").values_list("before_id", "after_id")) == [
        (None, first.pk), (first.pk, third.pk),
    ]  # fmt: skip
    assert Instance.objects.get().live
    with pytest.raises(PromotionRefused) as refused:
        services.rollback(first.document_id, "Ada")
    assert refused.value.reason == "version_removed"
    assert list(invariants.check()) == []


def test_a_removal_that_did_not_commit_leaves_everything(store, versions, monkeypatch):
    before = tree(store.root)

    def fail(*_arguments):
        raise DatabaseError("gone")

    monkeypatch.setattr(removal, "_delete_document", fail)
    with pytest.raises(DatabaseError):
        services.remove_document(versions[0].document_id, "Ada")
    assert tree(store.root) == before
    assert list(invariants.check()) == []


def test_a_mark_without_its_record_is_taken_away(store, versions):
    """The database was lost, or the process ended before it wrote: nothing was removed."""
    file_id = versions[0].document_id
    (store.object_dir(file_id) / REMOVING).write_text('{"removal": "018f0000-0000-7000-8000-000000000000"}')
    (difference,) = services.reconcile_document(file_id)
    assert "not carried out" in difference.what
    assert store.has_object(file_id)
    assert list(invariants.check()) == []


# --- Clean-up ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def many(extracted) -> list[ExtractionVersion]:
    """A primary made last, and four before it, oldest first; one was primary before."""
    first = extracted()
    rest = [
        services.extract(first.document_id, "upper", "save_variant", options={"suffix": str(number)})
        for number in range(3)
    ]
    last = services.extract(first.document_id, "upper", options={"copies": 3})
    return [first, *rest, last]


def going(rule: retention.Rule) -> list[str]:
    return [row.extraction_id for row in retention.plan(rule) if not row.kept]


def test_a_clean_up_does_what_its_preview_says(store, many):
    first, one, two, three, last = many
    before = tree(store.root)
    rows = list(retention.plan(retention.Rule(keep=1)))
    assert [row.extraction_id for row in rows] == [first.pk, one.pk, two.pk]
    assert [row.kept for row in rows] == [needs.ROLLBACK, "", ""]
    assert all(row.size_bytes > 100 for row in rows)
    assert tree(store.root) == before
    (record,) = retention.clean_up(rows, retention.Rule(keep=1), "Ada", "spring")
    assert (record.what, record.versions, record.counts["versions"]) == ("versions", [one.pk, two.pk], 2)
    assert set(first.document.versions.values_list("pk", flat=True)) == {first.pk, three.pk, last.pk}
    assert going(retention.Rule(keep=1)) == []
    assert list(invariants.check()) == []


def test_which_versions_a_rule_names(store, many, extracted, add):
    first, one, two, three, _ = many
    failed = services.extract(first.document_id, "raises")
    alone = services.extract(add("b.txt", "no primary here"), "upper", "save_variant")
    assert set(going(retention.Rule())) == {one.pk, two.pk, three.pk}
    assert set(going(retention.Rule(failed=True))) == {one.pk, two.pk, three.pk, failed.pk}
    assert set(going(retention.Rule(even_needed=True))) == {first.pk, one.pk, two.pk, three.pk}
    assert going(retention.Rule(keep=4)) == []
    assert going(retention.Rule(before=two.created_at)) == [one.pk]
    assert going(retention.Rule(before=timezone.now() - timedelta(days=1))) == []
    assert going(retention.Rule(file_ids=(alone.document_id,), even_needed=True)) == []
    (row,) = retention.plan(retention.Rule(file_ids=(alone.document_id,)))
    assert row.kept == retention.NO_PRIMARY


def test_what_became_primary_since_the_preview_stays(store, many):
    rows = list(retention.plan(retention.Rule()))
    services.promote(many[0].document_id, many[1].pk, "Ada")
    with pytest.raises(RemovalRefused):
        list(retention.clean_up(rows, retention.Rule(), "Ada"))
    assert ExtractionVersion.objects.count() == 5


def test_the_plan_costs_a_fixed_number_of_queries(store, many, django_assert_num_queries):
    with django_assert_num_queries(3):
        list(retention.plan(retention.Rule()))


# --- By the database ---------------------------------------------------------------------------------------------------


def refused(sql: str, *values: object) -> str:
    with pytest.raises((IntegrityError, DatabaseError)) as error, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)
    return str(error.value)


def test_what_the_database_refuses(store, versions, add):
    first, second, third, failed = versions
    stranger = services.extract(add("b.txt", "of another document"))
    table = "extraction_extractionversion"
    assert "immutable" in refused(f"UPDATE {table} SET text_chars = 1 WHERE id = %s", second.pk)
    assert "append-only" in refused(f"DELETE FROM {table} WHERE id = %s", second.pk)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for name in ("extractionversion", "promotion", "removal"):
        assert "truncated" in refused(f"TRUNCATE extraction_{name} CASCADE")
    pointer = "UPDATE extraction_document SET primary_id = %s WHERE file_id = %s"
    for wrong in (failed, stranger):
        assert "succeeded version of that document" in refused(pointer, wrong.pk, first.document_id)
    assert "never changes" in refused("UPDATE extraction_document SET size_bytes = 1")
    assert "never changes" in refused("UPDATE extraction_documentsource SET path = path || 'x'")
    move = "INSERT INTO extraction_promotion (id, document_id, before_id, after_id, actor, reason) VALUES (gen_random_uuid(), %s, %s, %s, '', '')"
    assert "between versions" in refused(move, first.document_id, third.pk, stranger.pk)
    assert "between versions" in refused(move, first.document_id, stranger.pk, second.pk)
    removal = services.remove_versions(first.document_id, [second.pk], "Ada")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL osii.erase = 'off'")  # this test is one transaction
    assert "immutable" in refused("UPDATE extraction_removal SET actor = 'Bob' WHERE id = %s", removal.pk)
    assert "append-only" in refused("DELETE FROM extraction_removal WHERE id = %s", removal.pk)
