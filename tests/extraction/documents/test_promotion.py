"""Moving the primary pointer."""

import json
import logging

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from extraction.documents import files, invariants, services
from extraction.documents.errors import PrimaryMoved, PromotionRefused, UnknownDocument, UnknownVersion
from extraction.models import Document, ExtractionVersion, Promotion

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(extracted) -> tuple[ExtractionVersion, ExtractionVersion]:
    """The primary of a document and a variant of it."""
    text = extracted()
    return text, services.extract(text.document_id, "upper", "save_variant")


def primary_on_disk(store, file_id: str) -> str:
    return json.loads(store.index_path(file_id).read_text())["primary_id"]


def test_promote_moves_pointer_index_and_mirrors(store, pair):
    text, upper = pair
    promotion = services.promote(text.document_id, upper.pk, "Ada", "better layout", expected_primary=text.pk)
    assert (promotion.before, promotion.after, promotion.actor, promotion.reason) == (
        text,
        upper,
        "Ada",
        "better layout",
    )
    assert Document.objects.get().primary == upper
    assert primary_on_disk(store, text.document_id) == upper.pk
    folder = store.object_dir(text.document_id)
    for name in ("text.txt", "manifest.jsonl", "provenance.toml"):
        assert (folder / name).read_bytes() == (folder / "extractions" / upper.pk / name).read_bytes()
    assert list(invariants.check()) == []


def test_a_changed_base_is_a_conflict_and_changes_nothing(store, pair):
    text, upper = pair
    for expected in (None, "text-20260101000000-00000000"):
        with pytest.raises(PrimaryMoved) as moved:
            services.promote(text.document_id, upper.pk, "Ada", expected_primary=expected)
        assert (moved.value.reason, moved.value.current) == ("primary_moved", text.pk)
    assert Document.objects.get().primary == text
    assert primary_on_disk(store, text.document_id) == text.pk
    assert Promotion.objects.count() == 1


def test_promoting_the_primary_again_changes_nothing(store, pair):
    text, upper = pair
    first = services.promote(text.document_id, upper.pk, "Ada", expected_primary=text.pk)
    again = services.promote(text.document_id, upper.pk, "Ada", expected_primary=text.pk)  # a double submit
    assert again == first
    assert Promotion.objects.count() == 2


def test_what_may_not_be_promoted(store, pair, add):
    text, _ = pair
    failed = services.extract(text.document_id, "encrypted")
    other = services.extract(add("other.txt", "another text"))
    cases = (
        (text.document_id, failed.pk, PromotionRefused, "failed_version", "asks for a password"),
        (text.document_id, other.pk, UnknownVersion, "other_document", "is a version of"),
        (text.document_id, "text-20260101000000-00000000", UnknownVersion, "unknown_version", "no extraction version"),
        (text.document_id, "../../etc/passwd", UnknownVersion, "unknown_version", "no extraction version"),
        ("sha256-" + "0" * 64, text.pk, UnknownDocument, "unknown_document", "no document"),
        ("..", text.pk, UnknownDocument, "unknown_document", "no document"),
    )
    for file_id, extraction_id, kind, reason, message in cases:
        with pytest.raises(kind, match=message) as refused:
            services.promote(file_id, extraction_id, "Ada")
        assert refused.value.reason == reason
    assert Document.objects.get(pk=text.document_id).primary == text


def test_a_version_damaged_on_disk_does_not_come_into_force(store, pair):
    text, upper = pair
    path = store.version_dir(text.document_id, upper.pk) / "text.txt"
    path.chmod(0o644)
    path.write_text("ONE LINE, changed by hand")
    with pytest.raises(PromotionRefused, match="missing or damaged"):
        services.promote(text.document_id, upper.pk, "Ada")
    assert Document.objects.get().primary == text


def test_the_database_wins_over_a_crash_before_the_mirrors(store, pair, monkeypatch, caplog):
    text, upper = pair

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(files, "replace", fail)
        services.promote(text.document_id, upper.pk, "Ada")
    assert "reconcile repairs them" in caplog.text
    assert Document.objects.get().primary == upper
    assert primary_on_disk(store, text.document_id) == text.pk
    assert any("index.json differs" in violation for violation in invariants.check())

    planned = services.reconcile_document(text.document_id, dry_run=True)
    assert primary_on_disk(store, text.document_id) == text.pk
    healed = services.reconcile_document(text.document_id)
    assert healed == planned
    assert all(difference.healed for difference in healed)
    assert primary_on_disk(store, text.document_id) == upper.pk
    assert (store.object_dir(text.document_id) / "text.txt").read_text() == "ONE LINE.\n\nANOTHER.\n"
    assert services.reconcile_document(text.document_id) == []
    assert list(invariants.check()) == []


def test_a_crash_between_two_mirrors(store, pair, monkeypatch):
    text, upper = pair
    replace_by_copy = files.replace_by_copy

    def fail_at_manifest(path, *arguments):
        if path.name == "manifest.jsonl":
            raise OSError(5, "Input/output error")
        replace_by_copy(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace_by_copy", fail_at_manifest)
        services.promote(text.document_id, upper.pk, "Ada")
    assert [difference.what for difference in services.reconcile_document(text.document_id)] == [
        "manifest.jsonl is not that of the primary version",
        "provenance.toml is not that of the primary version",
    ]
    assert list(invariants.check()) == []


def test_the_record_is_append_only_and_versions_are_immutable(store, pair):
    text, upper = pair
    for broken in (
        lambda: Promotion.objects.update(actor="someone else"),
        lambda: Promotion.objects.all().delete(),
        lambda: ExtractionVersion.objects.filter(pk=text.pk).update(text_chars=1),
        lambda: ExtractionVersion.objects.filter(pk=upper.pk).delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            broken()
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_the_database_itself_refuses_a_wrong_primary(store, pair, add):
    text, _ = pair
    failed = services.extract(text.document_id, "encrypted")
    other = services.extract(add("other.txt", "another text"))
    for wrong in (failed, other):
        with pytest.raises(IntegrityError), transaction.atomic():
            Document.objects.filter(pk=text.document_id).update(primary=wrong)


def test_moves_are_taken_back_one_after_the_other(store, extracted):
    text = extracted()
    one, two = (
        services.extract(text.document_id, "upper", options={"copies": copies}, actor="Ada") for copies in (1, 2)
    )
    back = services.rollback(text.document_id, "Bob", "worse", expected_primary=two.pk)
    assert (back.before_id, back.after_id, back.actor, back.reason) == (two.pk, one.pk, "Bob", "worse")
    assert back.takes_back.after_id == two.pk
    with pytest.raises(PrimaryMoved):
        services.rollback(text.document_id, "Bob", expected_primary=two.pk)
    assert services.rollback(text.document_id, "Bob").after_id == text.pk
    assert (store.object_dir(text.document_id) / "text.txt").read_text() == "One line.\n\nAnother.\n"
    with pytest.raises(PromotionRefused) as refused:  # the first move had nothing before it
        services.rollback(text.document_id, "Bob")
    assert refused.value.reason == "nothing_to_take_back"
    services.promote(text.document_id, two.pk, "Ada")
    assert services.rollback(text.document_id, "Bob").after_id == text.pk
    assert Document.objects.get().primary_id == text.pk
    assert list(invariants.check()) == []


def test_nothing_returns_to_a_damaged_version(store, extracted):
    text = extracted()
    upper = services.extract(text.document_id, "upper")
    (store.version_dir(text.document_id, text.pk) / "text.txt").unlink()
    with pytest.raises(PromotionRefused) as refused:
        services.rollback(text.document_id, "Bob")
    assert refused.value.reason == "version_damaged"
    assert Document.objects.get().primary_id == upper.pk
