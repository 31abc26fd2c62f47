"""What tests with real transactions leave to the next: nothing, and every trigger in force."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from coverage.ids import new_id
from coverage.models import Chat, CoverageEntry
from coverage.services import append_entries
from tests import emptying, factories

pytestmark = pytest.mark.django_db(transaction=True)


def empty() -> None:
    call_command("flush", verbosity=0, interactive=False, reset_sequences=False, inhibit_post_migrate=True)


@pytest.mark.parametrize("few", [emptying.FEW, 1], ids=["deleted", "truncated"])
def test_every_table_is_emptied_and_the_ledger_stays_append_only(few: int, monkeypatch) -> None:
    monkeypatch.setattr(emptying, "FEW", few)
    for _ in range(2):
        chat = factories.chat(factories.message("a", "one"), factories.message("b", "two"))
        append_entries(chat, chat.messages.filter(message_id="a"), batch_id=new_id())
        with pytest.raises(IntegrityError, match=r"append-only|immutable"):
            CoverageEntry.objects.all().update(tokens=0)
        empty()
        assert not CoverageEntry.objects.exists()
    assert not any(emptying._rows(connection.introspection.django_table_names(only_existing=True)).values())


def test_only_what_has_rows_is_touched() -> None:
    empty()
    factories.chat()
    with CaptureQueriesContext(connection) as queries:
        empty()
    deletes = [query["sql"] for query in queries if query["sql"].startswith("DELETE")]
    assert {'DELETE FROM "coverage_learner"', 'DELETE FROM "coverage_chat"'} <= set(deletes)
    assert len(deletes) < 5, "of the many that there are"
    assert not Chat.objects.exists()
