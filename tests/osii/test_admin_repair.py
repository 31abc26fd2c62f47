"""Repair from the admin: each action asks first, names the numbers, and needs its permission."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from coverage.models import Chat, CoverageEntry
from extraction.admin import repair as repair_admin
from extraction.models import Batch
from graphctx.models import Instance, Proposition
from tests.osii import rows
from tests.osii.test_admin import act, admin_url

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """A split starts a run."""


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def chats() -> list[Chat]:
    made = [rows.chat(title="One"), rows.chat(2, title="Two")]
    for number, chat in enumerate(made):
        rows.batch(chat)
        rows.instance(rows.proposition(f"Claim {number}."), chat)
    return made


def releases() -> int:
    return CoverageEntry.objects.filter(kind="release").count()


def test_coverage_is_reset_after_a_confirmation(superuser, chats):
    ids = [chat.pk for chat in chats]
    asked = act(superuser, Chat, "reset_coverage", *ids).text
    assert "4 messages, 80 tokens, will be read again; 4 releases" in asked
    assert "2 messages, 40 tokens" in asked
    assert releases() == 0
    done = act(superuser, Chat, "reset_coverage", *ids, confirmed="yes").text
    assert "Coverage of 2 chats is reset: 6 messages will be read again." in done
    assert releases() == 6


@pytest.mark.parametrize(("choice", "released"), [("keep", 0), ("reset", 6)])
def test_knowledge_is_purged_after_a_choice(superuser, chats, choice, released):
    ids = [chat.pk for chat in chats]
    asked = act(superuser, Chat, "purge_knowledge", *ids).text
    assert asked.count("1 piece of evidence") == 2
    assert "Choose what becomes of coverage." not in asked
    assert "Choose what becomes of coverage." in act(superuser, Chat, "purge_knowledge", *ids, confirmed="yes").text
    assert Instance.objects.count() == 2
    done = act(superuser, Chat, "purge_knowledge", *ids, confirmed="yes", coverage=choice).text
    assert "Purged 2 chats: 2 pieces of evidence and 2 propositions removed" in done
    assert (Proposition.objects.count(), releases()) == (0, released)


def test_a_chat_that_is_being_read_is_left_and_the_others_are_not(superuser, chats):
    rows.run(chats[0], "running")
    done = act(superuser, Chat, "purge_knowledge", *[c.pk for c in chats], confirmed="yes", coverage="keep").text
    assert "One: nothing was removed; a run reads this chat just now" in done
    assert "Purged 1 chat:" in done
    assert [row.chat for row in Instance.objects.all()] == [chats[0]]


def test_a_confirmation_names_no_thousands(superuser, chats, monkeypatch):
    monkeypatch.setattr(repair_admin, "MOST_CHATS", 1)
    done = act(superuser, Chat, "reset_coverage", *[chat.pk for chat in chats], confirmed="yes").text
    assert "Choose at most 1 chats at a time." in done
    assert releases() == 0


def test_parked_batches_are_split(superuser):
    parked, single = rows.batch(rows.chat(), "parked"), rows.batch(rows.chat(1), "parked")
    done = act(superuser, Batch, "split_parked", parked.pk, single.pk, confirmed="yes").text
    assert "1 parked batch(es) will be read as two smaller ones." in done
    assert Batch.objects.filter(chat=parked.chat, status="failed").count() == 2
    assert "more than one message" in act(superuser, Batch, "split_parked", single.pk, confirmed="yes").text


def test_each_action_needs_its_permission(client, chats):
    parked = rows.batch(chats[0], "parked")
    client.force_login(rows.staff_user("view_chat", "view_batch"))
    for model, action, row in (
        (Chat, "reset_coverage", chats[0]), (Chat, "purge_knowledge", chats[0]), (Batch, "split_parked", parked),
    ):  # fmt: skip
        assert f'value="{action}"' not in client.get(admin_url(model, "changelist")).text
        act(client, model, action, row.pk, confirmed="yes", coverage="reset")
    client.force_login(rows.staff_user("view_chat", "delete_instance", username="purger"))
    act(client, Chat, "purge_knowledge", chats[0].pk, confirmed="yes", coverage="reset")
    assert (releases(), Instance.objects.count(), Batch.objects.filter(status="parked").count()) == (0, 2, 1)
    act(client, Chat, "purge_knowledge", chats[0].pk, confirmed="yes", coverage="keep")
    assert Instance.objects.count() == 1
