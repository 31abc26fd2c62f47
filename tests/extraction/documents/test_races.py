"""Two at once. Each race has a negative control that shows what the lock prevents."""

import contextlib
import io
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection

from extraction.documents import intake, invariants, promotion, services
from extraction.documents.errors import PrimaryMoved
from extraction.documents.store import Store
from extraction.models import Document, DocumentSource, ExtractionVersion, Promotion

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Run the calls in threads that start together; their results, or the PrimaryMoved they raised, in order."""
    results: list[object] = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def run(number: int) -> None:
        try:
            start.wait(10)
            results[number] = calls[number]()
        except PrimaryMoved as error:
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


@pytest.fixture
def three(extracted) -> list[ExtractionVersion]:
    """The primary and two variants of one document."""
    text = extracted()
    variants = [
        services.extract(text.document_id, "upper", "save_variant", options={"copies": copies}) for copies in (1, 2)
    ]
    return [text, *variants]


def test_two_promotions_from_one_base(store, three):
    text, one, two = three
    results = at_once(
        *(lambda to=to: services.promote(to.document_id, to.pk, "x", expected_primary=text.pk) for to in (one, two))
    )
    assert sorted(type(result).__name__ for result in results) == ["PrimaryMoved", "Promotion"]
    winner = next(result for result in results if isinstance(result, Promotion))
    assert Document.objects.get().primary_id == winner.after_id
    assert Promotion.objects.count() == 2
    assert list(invariants.check()) == []


def test_the_row_lock_alone_decides(store, three, monkeypatch):
    """Two hosts may not share the store's lock; the database still lets one of them through only."""
    text, one, two = three
    checked = threading.Barrier(2)
    monkeypatch.setattr(Store, "lock", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(promotion, "_check_files", lambda *_: checked.wait(10))
    results = at_once(
        *(lambda to=to: services.promote(to.document_id, to.pk, "x", expected_primary=text.pk) for to in (one, two))
    )
    assert sorted(type(result).__name__ for result in results) == ["PrimaryMoved", "Promotion"]
    assert Promotion.objects.count() == 2


def test_without_the_row_lock_both_would_believe_they_moved_it(store, three):
    """Negative control: check, then write, as a promotion without locks would."""
    text, one, two = three
    checked = threading.Barrier(2)

    def promote_unlocked(to: ExtractionVersion) -> bool:
        document = Document.objects.get(pk=to.document_id)
        if document.primary_id != text.pk:
            return False
        checked.wait(10)
        Promotion.objects.create(document=document, before=text, after=to, actor="x")
        Document.objects.filter(pk=document.pk).update(primary=to)
        return True

    assert at_once(lambda: promote_unlocked(one), lambda: promote_unlocked(two)) == [True, True]
    assert Promotion.objects.filter(before=text).count() == 2  # one move is lost, and nobody was told


def test_the_same_bytes_added_at_once(store, write):
    paths = [write(f"{name}.txt", "the same text") for name in ("a", "b", "a", "c")]
    outcomes = at_once(*(lambda path=path: services.add_file(path) for path in paths))
    assert len({outcome.file_id for outcome in outcomes}) == 1
    assert sorted(outcome.status for outcome in outcomes) == ["added", "unchanged", "unchanged", "unchanged"]
    assert Document.objects.count() == 1
    assert DocumentSource.objects.count() == 3
    assert list(invariants.check()) == []


def test_one_path_with_two_contents_at_once(store, write):
    path = write("a.txt", "one")
    first = services.add_file(path).file_id
    path.write_text("two")
    second = services.add_file(path).file_id
    path.write_text("one")
    outcomes = at_once(*[lambda: services.add_file(path)] * 3)
    assert sorted(outcome.status for outcome in outcomes) == ["replaces", "unchanged", "unchanged"]
    assert DocumentSource.objects.get(document=first).replaces_id == second
    assert list(invariants.check()) == []


def test_two_contents_seen_under_one_path_at_once(store, write, monkeypatch):
    """Each says what it replaces, in one order: not both the same document."""
    path = write("a.txt", "one")
    first = services.add_file(path).file_id
    both = threading.Barrier(2)
    named_before = intake._named_before

    def meet(path):
        found = named_before(path)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.3)  # both get here together only if nothing makes the second one wait
        return found

    monkeypatch.setattr(intake, "_named_before", meet)
    sources = [intake.Source(str(path), "a.txt", 3, datetime.now(UTC), io.BytesIO()) for _ in range(2)]
    documents = [
        Document(file_id="sha256-" + digit * 64, filename="a.txt", mime="text/plain", size_bytes=3) for digit in "23"
    ]
    outcomes = at_once(*(lambda pair=pair: intake._record(*pair)[0] for pair in zip(documents, sources, strict=True)))
    assert sorted(outcome.replaces == first for outcome in outcomes) == [False, True]
    assert len({outcome.replaces for outcome in outcomes}) == 2


def test_one_document_extracted_at_once_gets_one_version(store, add):
    file_id = add("a.txt", "some text")
    versions = at_once(*[lambda: services.extract(file_id)] * 3)
    assert len({version.pk for version in versions}) == 1
    assert ExtractionVersion.objects.count() == Promotion.objects.count() == 1
    assert list(store.scratch.iterdir()) == []
    assert list(invariants.check()) == []


def test_the_document_lock_excludes(tmp_path):
    store = Store(tmp_path / "store").open()
    file_id = "sha256-" + "ab" * 32
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with Store(store.root).lock(file_id):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.02)
            inside.pop()

    at_once(*[work] * 4)
    assert most == [1, 1, 1, 1]
