"""reread_chat and purge_chat, as their user calls them."""

from uuid import uuid4

import pytest
from django.core.management import CommandError

from coverage.models import Chat, CoverageEntry
from graphctx.models import Instance, Proposition
from tests.osii import rows
from tests.osii.test_extraction_commands import call, call_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    made = rows.chat(3)
    rows.batch(made)
    rows.instance(rows.proposition(), made)
    return made


def releases() -> int:
    return CoverageEntry.objects.filter(kind="release").count()


def test_reading_again(chat: Chat) -> None:
    name = str(chat.pk)
    planned = call_json("reread_chat", "--chat", name, "--from", "2", "--dry-run")
    assert (planned["messages"], planned["tokens"], planned["dry_run"], releases()) == (2, 40, True, 0)
    assert "1 message, 20 tokens, will be read again" in call("reread_chat", "--chat", name, "--message", "m1")
    assert call_json("reread_chat", "--chat", name)["releases"] == releases() - 1 == 2
    assert "3 messages wait to be read anyway" in call("reread_chat", "--chat", name)
    uncovered = {row["state"] for row in call_json("coverage_report", "--chat", name)["messages"]}
    assert uncovered == {"reopened"}


def test_purging(chat: Chat) -> None:
    name = str(chat.pk)
    planned = call_json("purge_chat", "--chat", name, "--coverage", "reset", "--dry-run")
    assert planned["propositions"] == {"kept": 0, "out_of_retrieval": 0, "removed": 1, "forgotten": 0}
    assert (planned["instances"], planned["reread"]["messages"]) == (1, 3)
    assert Proposition.objects.count() == 1
    assert "Coverage is kept" in call("purge_chat", "--chat", name, "--coverage", "keep")
    assert (Proposition.objects.count(), Instance.objects.count(), releases()) == (0, 0, 0)
    assert "Coverage is reset: 3 messages" in call("purge_chat", "--chat", name, "--coverage", "reset")
    assert releases() == 3


def test_errors_are_one_clear_line(chat: Chat) -> None:
    name = str(chat.pk)
    for arguments, said in (
        (("reread_chat", "--chat", "x"), "'x' is not a chat id"),
        (("purge_chat", "--chat", str(uuid4()), "--coverage", "keep"), "there is no chat"),
        (("purge_chat", "--chat", name), "--coverage"),
        (("reread_chat", "--chat", name, "--from", "9"), "which has messages 1 to 3"),
        (("reread_chat", "--chat", name, "--message", "gone"), "not in this chat"),
        (("reread_chat", "--chat", name, "--message", "m1", "--to", "2"), "not both"),
    ):
        with pytest.raises(CommandError, match=said):
            call(*arguments)
    rows.run(chat, "running")
    with pytest.raises(CommandError, match="abort it"):
        call("purge_chat", "--chat", name, "--coverage", "keep")
    assert (releases(), Instance.objects.count()) == (0, 1)
