"""Links between propositions: what the database refuses, and the states that follow from them."""

from collections.abc import Callable

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from coverage.models import Learner
from graphctx import links
from graphctx.invariants import check
from graphctx.models import Instance, Link, Proposition

pytestmark = pytest.mark.django_db
Make = Callable[..., Proposition]


@pytest.fixture
def make() -> Make:
    """A proposition of a learner, with live evidence unless told otherwise."""
    ada = Learner.objects.create(name="Ada")

    def proposition(text: str, learner: Learner = ada, *, live: bool = True) -> Proposition:
        made = Proposition.objects.create(learner=learner, text=text, kind="fact", identity=text)
        Instance.objects.create(
            proposition=made, document_id="d", extraction_id="e", char_start=0, char_end=1, quote="q", speaker="user", live=live
        )  # fmt: skip
        return made

    return proposition


def link(source: Proposition, target: Proposition, kind: str = "supersedes") -> Link:
    return Link.objects.create(learner=source.learner, source=source, target=target, type=kind)


def state(proposition: Proposition) -> str:
    proposition.refresh_from_db()
    return proposition.state


def refused(work: Callable[[], object]) -> bool:
    try:
        with transaction.atomic():
            work()
    except (IntegrityError, DatabaseError):
        return True
    return False


def test_the_database_refuses_what_no_link_may_be(make: Make) -> None:
    one, two = make("one"), make("two")
    foreign = make("foreign", Learner.objects.create(name="Bo"))
    made = link(one, two)
    assert refused(lambda: link(one, two))
    assert refused(lambda: link(one, one))
    assert refused(lambda: link(one, foreign))
    assert refused(lambda: link(foreign, one))
    assert refused(lambda: link(one, two, "resembles"))
    assert refused(lambda: Link.objects.filter(pk=made.pk).update(type="follows"))
    assert refused(made.delete)
    assert not refused(lambda: Link.objects.filter(pk=made.pk).update(withdrawn_at=timezone.now()))
    assert not refused(lambda: link(one, two))


def test_a_proposition_is_superseded_while_something_above_it_has_live_evidence(make: Make) -> None:
    old, middle, new = make("old"), make("middle", live=False), make("new")
    link(middle, old)
    link(new, middle)
    links.refresh_states([new.pk])
    assert [state(old), state(middle), state(new)] == ["superseded", "superseded", "live"]
    Instance.objects.filter(proposition=new).update(live=False)
    assert set(links.refresh_states([new.pk])) == {old.pk, middle.pk}
    assert [state(old), state(middle)] == ["live", "live"]


def test_what_is_forgotten_stays_so_and_still_keeps_out_what_it_superseded(make: Make) -> None:
    old, new = make("old"), make("new")
    link(new, old)
    Proposition.objects.filter(pk=new.pk).update(state="forgotten")
    links.refresh_states([new.pk, old.pk])
    assert [state(old), state(new)] == ["superseded", "forgotten"]


def test_links_in_force_are_listed_both_ways_and_withdrawn_ones_are_not(make: Make) -> None:
    one, two, three = make("one"), make("two"), make("three")
    link(two, one)
    gone = link(three, two, "contradicts")
    assert links.withdraw(Link.objects.filter(pk=gone.pk)) == {two.pk, three.pk}
    assert [(found.source.text, found.target.text) for found in links.in_force([one.pk])] == [("two", "one")]
    assert list(links.in_force([three.pk])) == []


def test_invariants_see_a_wrong_state_and_a_circle(make: Make) -> None:
    one, two = make("one"), make("two")
    assert list(check()) == []
    made = link(two, one)
    assert any(f"{one.pk}: live, but its links" in line for line in check())
    links.refresh_states([two.pk])
    assert list(check()) == []
    Link.objects.filter(pk=made.pk).update(withdrawn_at=timezone.now())
    assert any(f"{one.pk}: superseded, but its links" in line for line in check())
    link(two, one)
    link(one, two)
    assert any("in a circle" in line for line in check())
