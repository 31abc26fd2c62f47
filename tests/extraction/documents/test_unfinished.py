"""Changes that cannot come to their end: nothing of them stays that would not be found by its mark."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from extraction.documents import invariants, removal, services, unfinished
from extraction.documents.errors import StoreError
from extraction.documents.store import REMOVING
from extraction.models import Document

from .conftest import tree
from .starving import files_left, unreadable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def changes(store, write, extracted) -> dict[str, Callable[[], object]]:
    """Each way in which a document's files are changed without another process."""
    version = extracted()
    services.extract(version.document_id, "upper")
    promoted = extracted("promoted.txt", "Another text.\n")
    other = services.extract(promoted.document_id, "upper", "save_variant")
    doomed = extracted("doomed.txt", "A third text.\n")
    pruned = extracted("pruned.txt", "A fourth text.\n")
    variant = services.extract(pruned.document_id, "upper", "save_variant")
    new = write("new.txt", "Nobody has seen this.\n")
    return {
        "add": lambda: services.add_file(new),
        "roll back": lambda: services.rollback(version.document_id, "tests"),
        "promote": lambda: services.promote(promoted.document_id, other.pk, "tests"),
        "remove": lambda: services.remove_document(doomed.document_id, "tests"),
        "remove versions": lambda: services.remove_versions(pruned.document_id, [variant.pk], "tests"),
    }


@pytest.mark.parametrize("count", range(7))
def test_a_process_that_may_open_no_more_files_leaves_nothing_that_is_not_found(store, changes, count):
    done = set()
    for name, change in changes.items():
        with files_left(count), suppress(StoreError, OSError):
            change()
            done.add(name)
    unfinished.heal_marked(grace=0)
    assert list(invariants.check()) == []
    assert count or not done, "with none at all nothing can be changed"
    for name in changes.keys() - done:
        changes[name]()
    assert list(invariants.check()) == []


def test_a_change_that_cannot_be_marked_is_not_made(store, changes, monkeypatch):
    before, documents = tree(store.root), set(Document.objects.values_list("pk", "primary"))
    touch = Path.touch

    def refused(path: Path, *arguments, **options) -> None:
        if path.parent == store.unfinished:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        touch(path, *arguments, **options)

    monkeypatch.setattr(Path, "touch", refused)
    for name, change in changes.items():
        with pytest.raises(StoreError, match="Too many open files; nothing was changed") as raised:
            change()
        assert raised.value.reason == "store_unusable", name
    assert (tree(store.root), set(Document.objects.values_list("pk", "primary"))) == (before, documents)


def test_a_removal_whose_mark_cannot_be_read_now_is_not_taken_for_one_that_was_never_carried_out(
    store, extracted, monkeypatch
):
    file_id = extracted().document_id
    with monkeypatch.context() as patch:
        patch.setattr(removal, "_remove_files", lambda *_arguments: None)  # killed after the rows were gone
        services.remove_document(file_id, "tests")
    assert store.has_object(file_id)
    store.mark(file_id)
    with unreadable(REMOVING):
        unfinished.heal_marked(grace=0)
        assert store.has_object(file_id)
        assert store.marks(0) == [(file_id, "")]
    unfinished.heal_marked(grace=0)
    assert not store.has_object(file_id)
    assert not Document.objects.exists(), "what was erased does not come back"
