"""A matrix follows its graph by what changed: the same rows as one read at once, and only the changes are read."""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from django.db import connection, transaction

from coverage.guards import allow_erase
from coverage.models import Learner
from graphctx import reading, scan
from graphctx.embedding import active_space, get_embedder
from graphctx.models import Instance, Proposition, PropositionVector
from graphctx.reading import now, read_all, read_changes
from graphctx.scan import nearest
from graphctx.vectors import add_vectors, backfill

from .conftest import SOLAR, add_evidence, add_propositions, bump

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def learner(transactional_db: None) -> Learner:
    return Learner.objects.create(name="Aiko")


@pytest.fixture
def wholes(monkeypatch: pytest.MonkeyPatch) -> list:
    """Each time that a matrix was read as a whole."""
    calls: list = []
    monkeypatch.setattr(scan, "read_all", lambda *args: calls.append(args) or read_all(*args))
    return calls


def found(learner: Learner) -> list[tuple[UUID, float]]:
    return nearest(active_space(), learner.pk, get_embedder().embed_query("what causes the tides?"), 100)


def retrievable(learner: Learner) -> set[UUID]:
    with_vector = PropositionVector.objects.filter(learner=learner).values("proposition")
    return set(
        Proposition.objects.retrievable().filter(learner=learner, pk__in=with_vector).values_list("pk", flat=True)
    )


def add(learner: Learner, dice: random.Random) -> None:
    texts = [f"claim {dice.random()} about tides" for _ in range(dice.randint(1, 3))]
    add_propositions(learner, texts, vectors=dice.random() < 0.8)


def retire(learner: Learner, dice: random.Random) -> None:
    row = dice.choice(list(learner.propositions.all()))
    row.state = dice.choice(Proposition.State.values)
    row.save()


def move_evidence(learner: Learner, dice: random.Random) -> None:
    row = dice.choice(list(Instance.objects.filter(proposition__learner=learner)))
    Instance.objects.filter(pk=row.pk).update(live=not row.live)


def more_evidence(learner: Learner, dice: random.Random) -> None:
    add_evidence(dice.choice(list(learner.propositions.all())))


def fill(learner: Learner, dice: random.Random) -> None:
    backfill(active_space())


STEPS: list[Callable] = [add, retire, move_evidence, more_evidence, fill]


@pytest.mark.parametrize("seed", range(2))
def test_a_matrix_that_followed_equals_one_that_was_read_at_once(learner: Learner, wholes: list, seed: int) -> None:
    dice = random.Random(seed)
    add_propositions(learner, SOLAR)
    found(learner)
    for _step in range(15):
        dice.choice(STEPS)(learner, dice)
        bump(learner.pk)
        followed = found(learner)
        assert {key for key, _score in followed} == retrievable(learner)
        scan.cache._matrices, kept = type(scan.cache._matrices)(), scan.cache._matrices
        assert found(learner) == followed  # read at once
        scan.cache._matrices = kept
    assert len(wholes) == 16


def test_only_what_changed_is_read(learner: Learner, wholes: list, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = add_propositions(learner, SOLAR)
    found(learner)
    counts: list[int] = []
    original = reading.copy_vectors

    def counting(*args) -> tuple[np.ndarray, np.ndarray]:
        ids, vectors = original(*args)
        counts.append(len(ids))
        return ids, vectors

    monkeypatch.setattr(reading, "copy_vectors", counting)
    add_propositions(learner, ["one more about tides"])
    Proposition.objects.filter(pk=rows[0].pk).update(state=Proposition.State.SUPERSEDED)
    assert len(found(learner)) == len(SOLAR)
    assert (counts, len(wholes)) == ([1], 1)


def test_what_is_erased_has_the_matrix_read_anew(learner: Learner, wholes: list) -> None:
    rows = add_propositions(learner, SOLAR)
    found(learner)
    with transaction.atomic():
        allow_erase()
        rows[0].delete()
        bump(learner.pk)
    assert {key for key, _score in found(learner)} == {row.pk for row in rows[1:]}
    assert len(wholes) == 2


def test_evidence_that_is_erased_takes_its_proposition_out_of_retrieval(learner: Learner, wholes: list) -> None:
    rows = add_propositions(learner, SOLAR)
    found(learner)
    with transaction.atomic():
        allow_erase()
        rows[0].instances.all().delete()
        bump(learner.pk)
    assert {key for key, _score in found(learner)} == {row.pk for row in rows[1:]}
    assert len(wholes) == 1


def test_another_server_has_the_matrix_read_anew(learner: Learner) -> None:
    """The transactions of a server that a dump was restored to begin anew."""
    add_propositions(learner, SOLAR)
    held = read_all(active_space(), learner.pk, now(learner.pk))
    later = replace(held, seen=replace(held.seen, oldest=held.seen.oldest + 10**9))
    assert read_changes(active_space(), learner.pk, held, now(learner.pk)) is not None
    assert read_changes(active_space(), learner.pk, later, now(learner.pk)) is None


class LateWriter(threading.Thread):
    """A merge that retires a proposition at once and commits when it is told to, holding no lock meanwhile."""

    def __init__(self, proposition: Proposition) -> None:
        super().__init__(daemon=True)
        self.proposition = proposition
        self.written, self.commit = threading.Event(), threading.Event()

    def run(self) -> None:
        with transaction.atomic():
            Proposition.objects.filter(pk=self.proposition.pk).update(state=Proposition.State.SUPERSEDED)
            self.written.set()
            self.commit.wait(30)
            bump(self.proposition.learner_id)
        connection.close()


@pytest.fixture
def late(learner: Learner) -> Iterator[tuple[LateWriter, list[Proposition]]]:
    rows = add_propositions(learner, SOLAR)
    found(learner)
    writer = LateWriter(rows[0])
    writer.start()
    assert writer.written.wait(30)
    # Another merge is quicker, and a scan reads what it did, while the first one is still open.
    rows += add_propositions(learner, ["quick claim about tides"])
    assert len(found(learner)) == len(rows)
    writer.commit.set()
    writer.join(30)
    yield writer, rows
    writer.commit.set()


def test_a_merge_that_wrote_earlier_and_committed_later_is_not_missed(
    late: tuple, learner: Learner, wholes: list
) -> None:
    _writer, rows = late
    assert {key for key, _score in found(learner)} == {row.pk for row in rows[1:]}
    assert not wholes


def test_reading_on_from_the_newest_transaction_would_miss_it(
    late: tuple, learner: Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: what is not older than the newest transaction is not enough."""
    _writer, rows = late
    held = scan.cache._peek((active_space().pk, learner.pk))
    careless = replace(held, seen=replace(held.seen, oldest=now(learner.pk).next - 1))
    matrix = read_changes(active_space(), learner.pk, careless, replace(now(learner.pk), oldest=10**15))
    assert matrix.uuid(matrix.positions([rows[0].pk])[rows[0].pk]) == rows[0].pk
    assert rows[0].pk in {matrix.uuid(place) for place in matrix.nearest(get_embedder().embed_query("tides"), 100)[0]}


def test_scans_during_merges_never_show_a_half(learner: Learner) -> None:
    """Writers swap one proposition for another in one transaction; every scan sees exactly one of each pair."""
    pairs = [add_propositions(learner, [f"pair {number} old tides"])[0] for number in range(3)]
    found(learner)
    stop, seen, failures = threading.Event(), [], []

    def merge(number: int) -> None:
        old = pairs[number]
        for turn in range(4):
            made = get_embedder().embed_documents([f"pair {number} turn {turn} tides"])[0]
            with transaction.atomic():
                if turn % 2:  # with the lock first, and without
                    Learner.objects.select_for_update(no_key=True).get(pk=learner.pk)
                Proposition.objects.filter(pk=old.pk).update(state=Proposition.State.SUPERSEDED)
                Learner.objects.select_for_update(no_key=True).get(pk=learner.pk)
                new = Proposition.objects.create(
                    learner=learner, text=f"pair {number} turn {turn}", kind="fact", identity=f"{number}-{turn}"
                )
                add_evidence(new)
                add_vectors(active_space(), learner.pk, {new.pk: made})
                bump(learner.pk)
            old = new
            if new.pk not in {key for key, _score in found(learner)}:
                failures.append(f"{new.text}: merged and not found")
        connection.close()

    def scan_on() -> None:
        while not stop.is_set():
            seen.append(len(found(learner)))
        connection.close()

    threads = [threading.Thread(target=merge, args=(number,)) for number in range(3)]
    reader = threading.Thread(target=scan_on)
    for thread in (reader, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    reader.join()
    assert not failures
    assert seen
    assert {key for key, _score in found(learner)} == retrievable(learner)
    assert len(found(learner)) == 3
    assert set(seen) == {3}
