"""The propositions list beyond its filters: the level as a steer would take it, search by meaning, one chat's, its cost."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from coverage.services import get_or_create_learner
from graphctx.embedding import active_space, get_embedder
from graphctx.models import EmbeddingSpace, Instance, Level, Proposition
from graphctx.selection import with_latest_level
from graphctx.vectors import add_vectors
from osii import propositions
from tests.osii import rows

pytestmark = pytest.mark.django_db

EPOCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user())
    return client


def embedded(text: str, **more) -> Proposition:
    row = rows.proposition(text, **more)
    add_vectors(active_space(), row.learner_id, {row.pk: get_embedder().embed_documents([text])[0]})
    return row


def texts(response) -> list[str]:
    return [row.text for row in response.context["page"]]


def test_the_level_filter_agrees_with_the_level_that_a_steer_takes():
    """Same moments, no moments, dead evidence and evidence without a level, at random."""
    choose = random.Random(7)
    chat = rows.chat(6)
    for number in range(40):
        claim = rows.proposition(f"Claim {number}.")
        for _ in range(choose.randint(0, 4)):
            position = choose.randint(1, 6)
            rows.instance(
                claim,
                chat,
                position,
                level=choose.choice([*Level.values[:3], None]),
                occurred_at=choose.choice([None, EPOCH, EPOCH + timedelta(days=400)]),
                live=choose.random() < 0.7,
                char_start=claim.instances.count() * 10,
                char_end=claim.instances.count() * 10 + 8,
            )
    latest = dict(with_latest_level(Proposition.objects.all()).values_list("pk", "latest_level"))
    assert len(set(latest.values())) == 4
    for level in [*Level.values, propositions.NO_LEVEL]:
        found = set(propositions.matching(Proposition.objects.all(), level=level).values_list("pk", flat=True))
        assert found == {key for key, held in latest.items() if (held or propositions.NO_LEVEL) == level}, level


def test_most_evidence_comes_first(staff):
    chat = rows.chat(5)
    for count in (1, 3, 0, 2):
        claim = rows.proposition(f"{count} pieces.")
        for position in range(1, count + 1):
            rows.instance(claim, chat, position)
    response = staff.get("/propositions/", {"sort": "evidence"})
    assert texts(response) == [f"{count} pieces." for count in (3, 2, 1, 0)]
    assert [row.instance_count for row in response.context["page"]] == [3, 2, 1, 0]


def test_one_chats_propositions(staff):
    chat, other = rows.chat(title="Here & now"), rows.chat()
    rows.instance(rows.proposition("Here."), chat)
    rows.instance(rows.proposition("There."), other)
    response = staff.get("/propositions/", {"chat": chat.pk})
    assert texts(response) == ["Here."]
    assert "Here &amp; now" in response.text
    assert f'name="chat" value="{chat.pk}"' in response.text  # a change of another filter keeps it
    assert texts(staff.get("/propositions/", {"chat": "nonsense"})) == ["There.", "Here."]


def test_by_meaning_the_nearest_come_first_with_their_similarity(staff):
    embedded("Rivers flow to the sea.")
    embedded("Copper melts at 1085 degrees.")
    response = staff.get("/propositions/", {"mode": "meaning", "q": "copper melts at which degrees"})
    assert texts(response) == ["Copper melts at 1085 degrees.", "Rivers flow to the sea."]
    nearest = response.context["page"].object_list[0]
    assert 0 < nearest.similarity <= 1
    assert f'data-label="Similarity" class="num">{nearest.similarity:.3f}<' in response.text
    embedded("Copper is red.", kind="decision")
    assert texts(staff.get("/propositions/", {"mode": "meaning", "q": "copper", "kind": "decision"})) == [
        "Copper is red."
    ]


def test_by_meaning_a_learner_is_chosen_where_there_are_several(staff):
    embedded("Copper is red.")
    rows.chat(learner="Berta")
    response = staff.get("/propositions/", {"mode": "meaning", "q": "copper"})
    assert texts(response) == []
    assert "Choose whose graph to search." in response.text
    assert "Say what to look for." in staff.get("/propositions/", {"mode": "meaning"}).text
    ada = Proposition.objects.get().learner_id
    assert texts(staff.get("/propositions/", {"mode": "meaning", "q": "copper", "learner": ada})) == ["Copper is red."]


def test_by_meaning_what_does_not_fit_is_said_with_the_command(staff):
    embedded("Copper is red.")
    rows.proposition("Without a vector.")
    shown = staff.get("/propositions/", {"mode": "meaning", "q": "copper"})
    assert texts(shown) == ["Copper is red."]
    assert "1 of Ada’s live propositions have no vector" not in shown.text
    assert "1 of Ada’s live propositions has no vector yet" in shown.text
    EmbeddingSpace.objects.update(model="another", stamp="another")
    refused = staff.get("/propositions/", {"mode": "meaning", "q": "copper"})
    assert texts(refused) == []
    assert "No search by meaning is possible now." in refused.text
    assert "manage.py backfill_embeddings" in refused.text


def test_a_text_without_any_words_is_no_error(staff):
    embedded("Copper is red.")
    assert staff.get("/propositions/", {"mode": "meaning", "q": "…"}).status_code == 200


def many(count: int) -> list[Proposition]:
    """Propositions of Ada that differ in a number, written at once."""
    owner = get_or_create_learner("Ada")
    made = [
        Proposition(learner=owner, text=f"Claim {number} about copper.", kind="fact", identity=f"many {number}")
        for number in range(count)
    ]
    return Proposition.objects.bulk_create(made)


def two_hundred() -> None:
    chat = rows.chat(1)
    message = chat.messages.get()
    made = many(200)
    vectors = get_embedder().embed_documents([row.text for row in made])
    add_vectors(active_space(), chat.learner_id, {row.pk: vector for row, vector in zip(made, vectors, strict=True)})
    Instance.objects.bulk_create(
        Instance(
            proposition=row, chat=chat, message_id=message.message_id, position=1, fingerprint=message.fingerprint,
            char_start=0, char_end=5, quote="1word", level="solid", speaker="user",
        )
        for row in made
    )  # fmt: skip


@pytest.mark.parametrize("query", [{}, {"level": "solid", "sort": "evidence"}, {"mode": "meaning", "q": "copper"}])
def test_a_list_asks_as_often_for_two_hundred_as_for_one(staff, query):
    rows.instance(embedded("One claim about copper."), rows.chat())

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert staff.get("/propositions/", query).status_code == 200
        return len(captured)

    one = asked()
    two_hundred()
    assert asked() == one


def test_the_plan_of_a_rare_word_uses_the_trigram_index():
    many(2000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_extension WHERE extname = 'pg_trgm'")
        if not cursor.fetchone()[0]:
            pytest.skip("this PostgreSQL has no pg_trgm")
        cursor.execute("ANALYZE graphctx_proposition")
        # The table is small: what matters is that the index answers this question at all.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    plan = propositions.matching(Proposition.objects.all(), q="Claim 1777").explain()
    assert "proposition_text_trigrams" in plan
