"""Healing: the database decides where it knows the document, the disk where it does not."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.db import connection

from coverage.guards import allow_erase
from coverage.models import Learner
from extraction.documents import invariants, selectors, services
from extraction.documents.errors import StoreError
from extraction.documents.versions import _Job
from extraction.models import Document, DocumentSource, ExtractionVersion, Promotion

from .conftest import tree

pytestmark = pytest.mark.django_db


def lose_database() -> None:
    """Empty every table of documents, as a restored empty database would be."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        allow_erase()
        cursor.execute("UPDATE extraction_document SET primary_id = NULL")
        for table in ("promotion", "extractionversion", "documentsource", "document"):
            cursor.execute(f"DELETE FROM extraction_{table}")
        cursor.execute("DELETE FROM coverage_learner")


def library() -> dict[str, list[tuple]]:
    """What the database says, but for row ids and times of seeing."""
    return {
        "documents": list(
            Document.objects.order_by("pk").values_list("pk", "filename", "mime", "size_bytes", "learner__name", "primary")
        ),
        "sources": list(
            DocumentSource.objects.order_by("document", "path").values_list("document", "path", "replaces", "modified_at")
        ),
        "versions": list(
            ExtractionVersion.objects.filter(status="succeeded")
            .order_by("pk")
            .values_list(
                "pk", "document", "extractor", "extractor_version", "options", "text_sha256", "text_chars",
                "manifest_records", "created_at",
            )
        ),
    }  # fmt: skip


def test_a_store_alone_rebuilds_the_library(store, write, bad_extractors):
    ada = Learner.objects.create(name="Ada")
    path = write("notes/über.md", "# One\n\nText.\n")
    first = services.add_file(path, ada).file_id
    text = services.extract(first)
    services.extract(first, "upper", "save_variant", options={"copies": 2})
    services.extract(first, "encrypted")
    path.write_text("# Two\n")
    second = services.add_file(path).file_id
    services.extract(second)
    services.promote(second, services.extract(second, "upper", "save_variant").pk, "Ada")
    services.add_file(write("copy.md", "# Two\n"))
    unextracted = services.add_file(write("page.html", "<p>")).file_id
    before, disk = library(), tree(store.root)
    lose_database()

    planned = list(services.reconcile_all(dry_run=True))
    assert {difference.subject for difference in planned} == {first, second, unextracted}
    assert not Document.objects.exists()
    list(services.reconcile_all())
    assert library() == before
    assert tree(store.root) == disk
    assert selectors.primary_text(first) == "# One\n\nText.\n"
    assert Promotion.objects.get(document=first).actor == "reconcile"
    assert services.extract(first) == text  # nothing is extracted again
    assert list(services.reconcile_all()) == []
    assert list(invariants.check()) == []


def test_reading_a_document_that_only_the_disk_knows(store, extracted):
    version = extracted()
    lose_database()
    assert selectors.primary_text(version.document_id) == "One line.\n\nAnother.\n"
    assert Document.objects.get().primary_id == version.pk


def test_a_file_added_again_after_the_database_was_lost(store, write, extracted):
    version = extracted("a.txt", "some text")
    lose_database()
    outcome = services.add_file(write("a.txt", "some text"))
    assert outcome.status == "added"
    assert services.extract(outcome.file_id).pk == version.pk
    assert list(invariants.check()) == []


def make_legacy(store, add) -> str:
    """An object as it was before versions: mirrors only."""
    file_id = add("old.txt", "The old text.\n")
    folder = store.object_dir(file_id)
    (folder / "text.txt").write_text("The old text.\n")
    (folder / "manifest.jsonl").write_text(
        '{"kind": "text", "id": "seg-000001", "path": "text.txt", "type": "page", "span": {"char_start": 0, "char_end": 13}}\n'
    )
    (folder / "provenance.toml").write_text('[extractor]\nname = "Old Reader"\nversion = "0.3"\n')
    return file_id


@pytest.mark.parametrize("database_lost", [False, True])
@pytest.mark.parametrize("touch", ["read", "reprocess", "reconcile"])
def test_an_object_from_before_versions_is_registered(store, add, touch, database_lost):
    file_id = make_legacy(store, add)
    if database_lost:
        lose_database()
    if touch == "read":
        assert selectors.primary_text(file_id) == "The old text.\n"
    elif touch == "reprocess":
        services.extract(file_id, policy="save_variant")
    else:
        assert any("before versions" in str(difference) for difference in services.reconcile_all())
    version = Document.objects.get().primary
    assert version.pk == f"legacy-old-reader-{version.text_sha256[:8]}"
    assert (version.extractor, version.extractor_version, version.manifest_records) == ("Old Reader", "0.3", 1)
    assert json.loads(store.index_path(file_id).read_text())["primary_id"] == version.pk
    assert list(services.reconcile_all()) == []
    assert list(invariants.check()) == []


def test_a_bare_legacy_text_is_enough(store, add):
    file_id = make_legacy(store, add)
    for name in ("manifest.jsonl", "provenance.toml"):
        (store.object_dir(file_id) / name).unlink()
    assert selectors.primary_text(file_id) == "The old text.\n"
    version = Document.objects.get().primary
    assert (version.extractor, version.manifest_records) == ("unknown", 0)
    assert list(invariants.check()) == []


def test_a_text_whose_bytes_were_never_kept_is_whole(store, add):
    file_id = make_legacy(store, add)
    lose_database()
    shutil.rmtree(store.object_dir(file_id) / "source")
    folder = Path(store.object_dir(file_id))
    (folder / "meta.toml").write_text(
        '[file]\nfilename = "old.txt"\nsource_relpath = "gone/old.txt"\nsize_bytes = 14\n'
    )
    assert selectors.primary_text(file_id) == "The old text.\n"
    assert list(services.reconcile_all()) == []
    assert list(invariants.check()) == []
    with pytest.raises(StoreError, match="add the file again"):
        services.extract(file_id, "text", force=True)


def test_a_store_of_another_origin_names_its_sources_from_its_own_root(store, add, tmp_path):
    file_id = make_legacy(store, add)
    lose_database()
    shutil.rmtree(store.object_dir(file_id) / "source")
    (store.root / "root.toml").write_text(f'data_root = "{tmp_path}"\n[root]\nroot_id = "x"\n')
    (store.object_dir(file_id) / "meta.toml").write_text(
        '[file]\nfilename = "old.txt"\nsource_relpath = "files/old.txt"\nsize_bytes = 14\n'
    )
    services.reconcile_document(file_id)
    assert DocumentSource.objects.get().path == str(tmp_path / "files" / "old.txt")


@pytest.mark.parametrize("lost", ["source", "bytes", "folder"])
def test_lost_bytes_are_copied_again_from_where_they_still_lie(store, write, lost):
    path = write("a.txt", "some text")
    file_id = services.add_file(path).file_id
    kept = store.source_path(file_id)
    if lost == "source":
        shutil.rmtree(kept.parent)
    elif lost == "bytes":
        kept.chmod(0o600)
        kept.write_text("SOME text")
    else:
        shutil.rmtree(store.object_dir(file_id))
    assert str(path) in str(services.reconcile_document(file_id, dry_run=True)[0])
    found = services.reconcile_document(file_id)
    assert found[0].healed
    assert store.source_path(file_id).read_text() == "some text"
    assert list(services.reconcile_all()) == []
    path.write_text("other text")
    store.source_path(file_id).unlink()
    assert [str(one) for one in services.reconcile_document(file_id) if not one.healed] == [
        f"{file_id}: the source bytes are missing: add the file again"
    ]


def test_a_crash_between_the_move_and_the_row(store, add, monkeypatch):
    file_id = add("a.txt", "some text")

    def crash(*_arguments, **_values):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_Job, "_version", crash)
        services.extract(file_id)
    (orphan,) = store.version_names(file_id)
    assert not ExtractionVersion.objects.exists()
    assert any("not in the database" in violation for violation in invariants.check())
    assert [difference.healed for difference in services.reconcile_document(file_id)] == [True, True]
    assert ExtractionVersion.objects.get().pk == orphan
    assert Document.objects.get().primary is None  # nobody was told that it is in force
    assert services.extract(file_id).pk == orphan
    assert Document.objects.get().primary_id == orphan
    assert list(invariants.check()) == []


def as_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file")


DAMAGE = {
    "a changed text": (lambda folder: rewrite(folder / "text.txt", "One lime.\n\nAnother.\n"), "text_sha256 is"),
    "a lost text": (lambda folder: (folder / "text.txt").unlink(), "has lost text.txt"),
    "a lost manifest": (lambda folder: (folder / "manifest.jsonl").unlink(), "has lost manifest.jsonl"),
    "a broken manifest": (lambda folder: rewrite(folder / "manifest.jsonl", "{"), "is damaged"),
    "a manifest without end": (lambda folder: rewrite(folder / "manifest.jsonl", "[" * 200_000), "is damaged"),
    "a lost version": (shutil.rmtree, "has lost text.txt"),
    "a file for a version": (as_file, "has lost text.txt"),
}


def rewrite(path: Path, text: str) -> None:
    path.chmod(0o644)
    path.write_text(text)


def as_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


SPOILT = {
    "a file for the object": as_file,
    "a file for the versions": lambda folder: as_file(folder / "extractions"),
    "a file for the source": lambda folder: as_file(folder / "source"),
    "a folder for the index": lambda folder: as_folder(folder / "extractions" / "index.json"),
    "a folder for meta.toml": lambda folder: as_folder(folder / "meta.toml"),
    "a folder for a mirror": lambda folder: as_folder(folder / "text.txt"),
    "a mark without end": lambda folder: (folder / "removing.json").write_text('{"a":' * 100_000),
    "names that are no text": lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/\n\xff")).touch(),
}


def test_a_text_that_was_changed_does_not_come_into_force_by_losing_the_database(store, extracted):
    version = extracted()
    rewrite(store.version_dir(version.document_id, version.pk) / "text.txt", "One lime.\n\nAnother.\n")
    lose_database()
    found = list(services.reconcile_all())
    assert [one.what for one in found if not one.healed] == [
        f"extractions/{version.pk} is not a version that can be registered: its text is not the one that index.json lists",
        "text.txt is a text that no version has; it stays where it is until one is primary",
    ]
    assert Document.objects.get().primary is None
    mirror = store.object_dir(version.document_id) / "text.txt"
    assert mirror.read_text() == "One line.\n\nAnother.\n"  # the last sound copy
    assert services.extract(version.document_id).text_sha256 == version.text_sha256


@pytest.mark.parametrize("name", SPOILT)
def test_what_one_document_refuses_keeps_no_other_one_waiting(name, store, add):
    ids = sorted(add(f"{number}.md", f"Text {number}.\n") for number in range(3))
    for file_id in ids:
        services.extract(file_id)
    SPOILT[name](store.object_dir(ids[0]))
    (store.object_dir(ids[2]) / "text.txt").unlink()
    for dry_run in (True, False):
        found = list(services.reconcile_all(dry_run=dry_run))
        assert {one.subject for one in found} == {ids[0], ids[2]}
        assert all("\n" not in str(one) and str(one).encode() for one in found)
    assert (store.object_dir(ids[2]) / "text.txt").read_text() == "Text 2.\n"
    assert any(ids[0] in violation for violation in invariants.check()) is (name != "a mark without end")


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_and_spreads_nowhere(name, store, extracted):
    version = extracted()
    damage, message = DAMAGE[name]
    damage(store.version_dir(version.document_id, version.pk))
    differences = services.reconcile_document(version.document_id)
    assert any(message in difference.what and not difference.healed for difference in differences)
    assert (store.object_dir(version.document_id) / "text.txt").read_text() == "One line.\n\nAnother.\n"
    assert any(message in violation for violation in invariants.check())


def test_changed_mirrors_index_and_meta_are_rewritten(store, extracted):
    version = extracted()
    before = tree(store.root)
    folder = store.object_dir(version.document_id)
    (folder / "text.txt").write_text("Changed by hand.")
    (folder / "provenance.toml").unlink()
    (folder / "meta.toml").write_text("not toml")
    store.index_path(version.document_id).write_text('{"primary_id": "text-20200101000000-00000000"}')
    assert len(services.reconcile_document(version.document_id)) == 4
    assert tree(store.root) == before


def test_an_index_that_names_a_primary_does_not_overrule_the_database(store, add):
    variant = services.extract(add("a.txt", "some text"), policy="save_variant")
    index = store.index_path(variant.document_id)
    index.write_text(json.dumps({**json.loads(index.read_text()), "primary_id": variant.pk}))
    assert len(services.reconcile_document(variant.document_id)) == 1
    assert Document.objects.get().primary is None
    assert json.loads(index.read_text())["primary_id"] is None


def test_what_is_no_version_is_named_and_left_alone(store, extracted):
    version = extracted()
    versions = store.versions_dir(version.document_id)
    (versions / "notes").mkdir()
    (versions / "text-20260101000000-0badcafe").mkdir()
    differences = services.reconcile_document(version.document_id)
    assert [difference.healed for difference in differences] == [False, False]
    assert (versions / "notes").is_dir()
    assert len(list(invariants.check())) == 2


def test_an_object_that_is_not_what_its_name_says(store, add):
    file_id = add("a.txt", "text")
    lose_database()
    kept = store.source_path(file_id)
    kept.chmod(0o644)
    kept.write_text("other")
    (difference,) = services.reconcile_all()
    assert "other bytes than its id" in difference.what
    assert not difference.healed
    assert not Document.objects.exists()


def test_a_promotion_that_was_not_recorded(store, extracted):
    text = extracted()
    upper = services.extract(text.document_id, "upper", "save_variant")
    Document.objects.update(primary=upper)
    services.reconcile_document(text.document_id)
    (violation,) = invariants.check()
    assert "last recorded promotion" in violation


def test_unfinished_work_is_removed_only_when_its_owner_is_gone(store):
    code = "import sys, time; sys.path[:0] = {path!r}; from pathlib import Path; from extraction.documents.store import Store\n"
    code += "with Store(Path({root!r})).temporary() as work:\n    (work / 'half').touch(); print('ready', flush=True); time.sleep(60)"
    child = subprocess.Popen(
        [sys.executable, "-c", code.format(path=sys.path, root=str(store.root))], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        assert store.leftovers(grace=0) == []
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    (left,) = store.leftovers(grace=0)
    assert (left / "half").exists()
    assert store.leftovers() == []  # still young
    os.utime(left, (time.time() - 90,) * 2)
    assert store.leftovers() == [left]
    assert list(invariants.check()) == [], "the reconciler is about to remove it"
    os.utime(left, (time.time() - 3600,) * 2)
    (store.scratch / "0123.new").touch()
    os.utime(store.scratch / "0123.new", (0, 0))
    assert len(list(invariants.check())) == 2
    assert len(list(services.reconcile_all(dry_run=True))) == 2
    assert left.exists()
    assert len(list(services.reconcile_all())) == 2
    assert list(store.scratch.iterdir()) == []


def test_what_belongs_to_nothing_is_named_and_left(store, extracted):
    version = extracted()
    failed = services.extract(version.document_id, "raises")
    folder = store.object_dir(version.document_id)
    stray = {
        store.objects / "notes": "is not the folder of a document",
        folder / "copy of text.txt": "does not belong in the folder",
        folder / "extractions" / "index.old": "does not belong among the versions",
        folder / "syntheses" / "extractive--text-20200101000000-00000000.txt": "output of a version that is not there",
        store.version_dir(version.document_id, failed.pk) / "text.txt": "but that extraction failed",
    }
    (folder / "syntheses").mkdir()
    (folder / "syntheses" / f"extractive--{version.pk}.txt").write_text("an output of the version")
    for path in stray:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    found = [str(difference) for difference in services.reconcile_all()]
    assert len(found) == len(stray)
    for what in stray.values():
        assert sum(what in line for line in found) == 1
    assert all(path.exists() for path in stray)
    assert sorted(invariants.check()) == sorted(found)


def test_a_version_is_on_disk_for_good_before_the_database_knows_it(store, add, bad_extractors, monkeypatch):
    """Every file and folder of it is flushed, and so are the folders that name it."""
    file_id = add("a.txt", "some text")
    flushed: set[Path] = set()
    fsync, create = os.fsync, ExtractionVersion.objects.create

    def flush(descriptor: int) -> None:
        flushed.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    seen = []

    def record(**values):
        folder = store.version_dir(file_id, values["id"])
        named = {store.versions_dir(file_id), store.object_dir(file_id)}
        # They were flushed under tmp/, and keep their names below the version's folder.
        below = {path.relative_to(folder) for path in folder.rglob("*")}
        before = {path.relative_to(top) for top in flushed for path in flushed if path.is_relative_to(top)}
        seen.append((below <= before, named <= flushed))
        return create(**values)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(ExtractionVersion.objects, "create", record)
    services.extract(file_id, "upper")
    assert seen == [(True, True)]
