"""Adding files: documents by content, sources by path."""

import os
import stat
import tomllib

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from coverage.models import Learner
from extraction.documents import files, selectors, services, sources
from extraction.documents.errors import SourceRefused, StoreError
from extraction.documents.ids import is_extraction_id, is_file_id, new_extraction_id
from extraction.documents.store import Store, from_utc, library_store
from extraction.models import Document, DocumentSource, ExtractionVersion

from .conftest import tree

pytestmark = pytest.mark.django_db


def test_a_file_becomes_an_object_with_its_bytes(store, write):
    path = write("my notes/Überblick 漢字.md", "# Title\n")
    outcome = services.add_file(path)
    assert outcome.status == "added"
    assert outcome.file_id == f"sha256-{files.sha256_of(path)}"
    kept = store.source_path(outcome.file_id)
    assert kept == store.root / "objects" / outcome.file_id / "source" / "Überblick 漢字.md"
    assert kept.read_bytes() == b"# Title\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o444
    meta = tomllib.loads((store.object_dir(outcome.file_id) / "meta.toml").read_text())
    assert meta["file"]["filename"] == "Überblick 漢字.md"
    assert meta["file"]["mime"] == "text/markdown"
    assert meta["file"]["size_bytes"] == 8
    assert "/" + meta["file"]["source_relpath"] == str(path)
    assert meta["hash"]["sha256"] == outcome.file_id.removeprefix("sha256-")
    assert meta["sources"] == [{"path": str(path), "mtime_utc": meta["file"]["mtime_utc"]}]
    document = Document.objects.get()
    assert (document.pk, document.filename, document.primary) == (outcome.file_id, "Überblick 漢字.md", None)
    assert list(store.scratch.iterdir()) == []


def test_the_same_file_again_changes_nothing(store, write):
    path = write("a.txt", "text")
    services.add_file(path)
    before = tree(store.root)
    outcome = services.add_file(path)
    assert (outcome.status, outcome.new_source) == ("unchanged", False)
    assert tree(store.root) == before
    assert DocumentSource.objects.count() == 1


@pytest.mark.parametrize("what", ["learner", "time"])
def test_meta_follows_a_known_file(store, write, what):
    path = write("a.txt", "text")
    services.add_file(path)
    if what == "time":
        os.utime(path, (1, 1))
    outcome = services.add_file(path, Learner(name="Ada") if what == "learner" else None)
    assert (outcome.status, outcome.learner_set) == ("unchanged", what == "learner")
    assert services.reconcile_document(outcome.file_id) == []


def test_a_refused_file_makes_no_learner(store, write):
    path = write("a.txt", "text")
    services.add_file(path, Learner(name="Ada"))
    with pytest.raises(SourceRefused):
        services.add_file(path, Learner(name="Bob"))
    assert [learner.name for learner in Learner.objects.all()] == ["Ada"]


def test_the_same_bytes_under_another_path_are_one_document(store, write):
    first = services.add_file(write("a.txt", "text"))
    second = services.add_file(write("copy.txt", "text"))
    assert (second.file_id, second.status, second.new_source) == (first.file_id, "unchanged", True)
    document = Document.objects.get()
    assert document.filename == "a.txt"
    assert [source.replaces for source in document.sources.all()] == [None, None]
    meta = tomllib.loads((store.object_dir(first.file_id) / "meta.toml").read_text())
    assert [entry["path"].rpartition("/")[2] for entry in meta["sources"]] == ["a.txt", "copy.txt"]


def test_new_bytes_under_a_path_are_a_new_document_that_says_what_it_replaces(store, write):
    path = write("a.txt", "one")
    first = services.add_file(path)
    path.write_text("two")
    second = services.add_file(path)
    assert (second.status, second.replaces) == ("replaces", first.file_id)
    assert Document.objects.get(pk=second.file_id).sources.get().replaces_id == first.file_id
    meta = tomllib.loads((store.object_dir(second.file_id) / "meta.toml").read_text())
    assert meta["sources"][0]["replaces"] == first.file_id
    path.write_text("one")
    back = services.add_file(path)
    assert (back.status, back.file_id, back.replaces) == ("replaces", first.file_id, second.file_id)
    assert services.add_file(path).status == "unchanged"
    path.write_text("three")
    assert services.add_file(path).replaces == first.file_id


def test_a_dry_run_tells_and_writes_nothing(store, write):
    path = write("a.txt", "one")
    assert services.add_file(path, dry_run=True).status == "added"
    assert not Document.objects.exists()
    assert list(store.objects.iterdir()) == []
    services.add_file(path)
    assert services.add_file(path, dry_run=True).status == "unchanged"
    path.write_text("two")
    assert services.add_file(path, dry_run=True).status == "replaces"


def test_a_document_has_one_learner(store, write):
    path = write("a.txt", "one")
    ada, bob = (Learner.objects.create(name=name) for name in ("Ada", "Bob"))
    services.add_file(path)
    services.add_file(path, learner=ada)
    assert Document.objects.get().learner == ada
    services.add_file(path)
    assert Document.objects.get().learner == ada
    for dry_run in (True, False):
        with pytest.raises(SourceRefused, match="document of Ada") as refused:
            services.add_file(path, learner=bob, dry_run=dry_run)
        assert refused.value.reason == "other_learner"


def test_a_file_that_changes_while_it_is_read(store, write, monkeypatch):
    path = write("a.txt", "one")
    copy_to = sources.Source.copy_to

    def change_first(source, target):
        path.write_text("two")
        return copy_to(source, target)

    monkeypatch.setattr(sources.Source, "copy_to", change_first)
    with pytest.raises(SourceRefused) as refused:
        services.add_file(path)
    assert refused.value.reason == "changed"
    assert not Document.objects.exists()
    assert list(store.objects.iterdir()) == list(store.scratch.iterdir()) == []


def test_lost_source_bytes_come_back_with_the_file(store, write):
    path = write("a.txt", "one")
    file_id = services.add_file(path).file_id
    store.source_path(file_id).unlink()
    moved = path.rename(path.with_name("b.txt"))
    assert [difference.healed for difference in services.reconcile_document(file_id)] == [False]
    assert services.add_file(moved).status == "unchanged"
    assert store.source_path(file_id).read_text() == "one"
    assert services.reconcile_document(file_id) == []


def test_adding_a_file_again_mends_bytes_that_were_changed(store, write):
    """Also when their number is the same, and no path that reconcile knows has them any more."""
    path = write("a.txt", "one")
    file_id = services.add_file(path).file_id
    kept = store.source_path(file_id)
    kept.chmod(0o600)
    kept.write_text("two")
    path.unlink()
    with pytest.raises(StoreError) as refusal:
        services.extract(file_id)
    assert refusal.value.reason == "source_damaged"
    assert services.add_file(write("b.txt", "one")).status == "unchanged"
    assert store.source_path(file_id).read_text() == "one"
    assert services.extract(file_id).status == "succeeded"


def test_files_that_cannot_follow_do_not_undo_an_add(store, write):
    file_id = services.add_file(write("a.txt", "one")).file_id
    (store.object_dir(file_id) / "meta.toml").unlink()
    (store.object_dir(file_id) / "meta.toml").mkdir()
    assert services.add_file(write("b.txt", "one")).new_source
    assert DocumentSource.objects.filter(document=file_id).count() == 2


@pytest.mark.parametrize("step", ["temporary", "place_version"])
def test_a_full_disk_leaves_no_version(store, add, monkeypatch, step):
    file_id = add("a.txt", "one")

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, step, full)
    with pytest.raises(StoreError, match="No space left"):
        services.extract(file_id)
    assert not ExtractionVersion.objects.exists()
    monkeypatch.undo()
    assert list(store.scratch.iterdir()) == []
    assert services.extract(file_id).status == "succeeded"


def test_a_full_disk_is_a_named_error(store, write, monkeypatch):
    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "place_object", full)
    with pytest.raises(StoreError, match="No space left"):
        services.add_file(write("a.txt", "one"))
    assert not Document.objects.exists()
    assert list(store.scratch.iterdir()) == []


def test_a_store_that_cannot_be_made(settings, tmp_path):
    (tmp_path / "home").write_text("a file")
    settings.OSII_HOME = tmp_path / "home"
    with pytest.raises(StoreError, match="cannot be used"):
        library_store()


def test_the_store_is_closed_to_other_users(settings, tmp_path):
    settings.OSII_HOME = tmp_path / "var"
    settings.OSII_HOME.mkdir(mode=0o711)
    root = library_store().root
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    root.chmod(0o755)  # as it was made before
    assert stat.S_IMODE(library_store().root.stat().st_mode) == 0o700
    assert stat.S_IMODE(root.parent.stat().st_mode) == 0o711


def test_the_store_keeps_its_id(store):
    before = (store.root / "root.toml").read_text()
    root = tomllib.loads(before)
    assert root["data_root"] == "/"
    assert from_utc(root["root"]["created_utc"])
    assert library_store().root == store.root
    assert (store.root / "root.toml").read_text() == before


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=60)


@given(name=NAMES.filter(lambda name: name not in {".", ".."}), data=st.binary(min_size=1, max_size=200))
@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_and_any_bytes_stay_inside_the_store(store, tmp_path, name, data):
    folder = tmp_path / "any"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    file_id = services.add_file(path).file_id
    kept = store.source_path(file_id)
    assert kept.read_bytes() == data
    assert kept.resolve().is_relative_to(store.object_dir(file_id).resolve())
    assert Document.objects.get(pk=file_id).sources.filter(path=str(path)).exists()
    path.unlink()


@pytest.mark.parametrize("bad", ["..", "sha256-" + "0" * 63, "sha256-" + "G" * 64, "sha256-" + "0" * 64 + "/..", ""])
def test_ids_are_checked_before_they_are_paths(bad):
    assert not is_file_id(bad)


@pytest.mark.parametrize(
    "bad", ["..", "text/../x-20260101000000-00000000", "text-2026-0000", "-20260101000000-00000000"]
)
def test_extraction_ids_are_checked(bad):
    assert not is_extraction_id(bad)


@given(name=st.text())
def test_every_new_extraction_id_has_its_form(name):
    assert is_extraction_id(new_extraction_id(name))


def test_documents_whose_source_file_changed(store, write, add):
    """Every path must name another document by now; and the same bytes may come back."""
    path, copy = write("a.txt", "one"), write("copy.txt", "one")
    first = services.add_file(path).file_id
    services.add_file(copy)
    path.write_text("two")
    second = services.add_file(path).file_id
    assert not selectors.source_changed().exists()
    assert selectors.names_now(first) == {str(path): second, str(copy): first}
    copy.write_text("three")
    services.add_file(copy)
    assert [document.pk for document in selectors.source_changed()] == [first]
    path.write_text("one")
    services.add_file(path)
    assert [document.pk for document in selectors.source_changed()] == [second]
    assert selectors.names_now(second) == {str(path): first}
