"""What was extracted with an older prompt: on pages, as a scope of reading again, and as a reason for the command."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from coverage.models import Chat, CoverageEntry
from extraction.models import Batch, ModelUse
from extraction.running import runs
from extraction.services import request_run
from extraction.workers.rules import RulesWorker
from tests import factories
from tests.extraction.llm_runs import states, tea
from tests.osii import rows

pytestmark = pytest.mark.django_db(transaction=True)


def read(chat: Chat) -> Batch:
    runs.execute(request_run(chat.pk, "rest", "rules", enqueue=False).pk)
    return Batch.objects.filter(chat=chat).latest("created_at")


@pytest.fixture
def staff(client: Client, rq_connection: object) -> Client:
    client.force_login(rows.staff_user("add_coverageentry", "view_chat"))
    return client


@pytest.fixture
def outdated(monkeypatch: pytest.MonkeyPatch) -> Chat:
    """A chat whose first two messages were read under an older version of the rules."""
    chat = factories.chat(tea(0), tea(1))
    read(chat)
    monkeypatch.setattr(RulesWorker, "version", "rules-next")
    return chat


def test_the_chat_and_its_batch_say_so_and_lead_to_reading_again(staff: Client, outdated: Chat) -> None:
    page = staff.get(reverse("chat", args=[outdated.pk])).text
    assert "2 messages, 20 tokens, extracted with an older prompt" in " ".join(page.split())
    again = f"{reverse('chat-reread', args=[outdated.pk])}?older=1"
    assert f'href="{again}"' in page
    batch = staff.get(reverse("batch", args=[Batch.objects.get().pk])).text
    assert "in force is rules-next" in batch and f'href="{again}"' in batch
    assert "older prompt" in staff.get(reverse("chat-batches", args=[outdated.pk])).text


def test_reading_again_names_it_and_then_nothing_is_older(staff: Client, outdated: Chat) -> None:
    url = reverse("chat-reread", args=[outdated.pk])
    asked = staff.get(f"{url}?older=1").text
    assert "What was extracted with an older prompt" in asked and "2 messages" in asked
    staff.post(url, {"older": "1", "first": "", "last": ""})
    assert states(outdated) == ["reopened", "reopened"]
    read(outdated)
    page = staff.get(reverse("chat", args=[outdated.pk])).text
    assert "extracted with an older prompt" not in page


def test_a_chat_that_is_up_to_date_says_nothing(staff: Client) -> None:
    chat = factories.chat(tea())
    batch = read(chat)
    for url in (reverse("chat", args=[chat.pk]), reverse("batch", args=[batch.pk])):
        assert "older prompt" not in staff.get(url).text


def test_the_command_looks_releases_and_reads_only_these_chats(outdated: Chat, capsys: Any) -> None:
    unread = factories.chat(tea(5))
    call_command("extract_chats", "--all", "--older-prompt", "--dry-run", "--json")
    looked = json.loads(capsys.readouterr().out)["older_prompt"]
    assert (looked["messages"], looked["tokens"], looked["releases"]) == (2, 20, 2)
    assert [row["chat_id"] for row in looked["chats"]] == [str(outdated.pk)]
    assert not CoverageEntry.objects.filter(kind="release").exists()
    call_command("extract_chats", "--all", "--older-prompt")
    said = capsys.readouterr()
    assert "2 messages, 20 tokens, in 1 chat were extracted with an older prompt and will be read again" in said.err
    assert "2 releases were appended to the ledger" in said.err
    assert (states(outdated), states(unread)) == (["covered", "covered"], ["uncovered"])
    assert Batch.objects.filter(chat=outdated, prompt_version="rules-next").count() == 1
    call_command("extract_chats", "--all", "--older-prompt")
    assert "Nothing was extracted with an older prompt." in capsys.readouterr().err


def test_one_chat_can_be_named_and_the_queue_can_do_it(outdated: Chat, capsys: Any, rq_connection: object) -> None:
    other = factories.chat(tea(7))
    call_command("extract_chats", "--chat", str(other.pk), "--older-prompt", "--json")
    assert json.loads(capsys.readouterr().out)["chats"] == []
    call_command("extract_chats", "--chat", str(outdated.pk), "--older-prompt", "--queue", "--json")
    assert json.loads(capsys.readouterr().out)["requested"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dry-run",), "goes with --older-prompt"),
        (("--worker", "rules", "--model", "fast"), "takes no model"),
        (("--worker", "llm", "--model", "fast"), "there is no model 'fast'; known: none"),
    ],
)
def test_what_does_not_go_together_is_said(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("extract_chats", "--all", *arguments)


def test_what_a_model_used_and_cost_is_on_the_batch_the_run_and_the_chat(staff: Client) -> None:
    batch = read(factories.chat(tea()))
    model = {"name": "fast", "model": "m-1", "place": "127.0.0.1:1"}
    usage = {"requests": 3, "input_tokens": 4000, "output_tokens": 500}
    shared = {"batch": batch, "run": batch.run_id, "agent": "extract-worker", "model": model, "usage": usage}
    ModelUse.objects.create(**shared, attempt=1, cost="0.25")
    ModelUse.objects.create(**shared, attempt=2)
    Batch.objects.update(model=model)
    page = " ".join(staff.get(reverse("batch", args=[batch.pk])).text.split())
    assert "6 requests, 8,000 tokens in, 1,000 out" in page
    assert "0.25 USD" in page and "and 1 attempt of unknown price" in page and "m-1 at 127.0.0.1:1" in page
    chat = staff.get(reverse("chat", args=[batch.chat_id])).text
    assert chat.count("0.25 USD") == 3  # the chat, the row of its run, and that of its batch


def test_the_list_of_chats_can_be_filtered_by_it(staff: Client, outdated: Chat) -> None:
    other = factories.chat(tea(3), title="Up to date")
    read(other)
    page = staff.get(reverse("chats"), {"state": "older"}).text
    assert reverse("chat", args=[outdated.pk]) in page and reverse("chat", args=[other.pk]) not in page
