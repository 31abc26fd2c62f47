"""Texts of others run nothing in a real browser: no dialog, no element of theirs, no request, nothing that the policy had to stop."""

import pytest
from django.urls import reverse

from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii.security import poisoned

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

RUNS = "'\"></a></script><img src=x onerror=alert(1)>"
"""Fetched as a picture, run as a script, or at least stopped by the policy: the watch on each page sees all three."""


@pytest.fixture
def known(transactional_db, extracted, rq_connection, monkeypatch) -> dict[str, str]:
    monkeypatch.setattr(poisoned, "LONG", RUNS)
    monkeypatch.setattr(
        poisoned,
        "SAID",
        [RUNS, f"[a](javascript:alert(1)) <svg onload=alert(2)>\n\n# {RUNS}\n\n|{RUNS}|b|\n|-|-|\n|1|2|"],
    )
    found = poisoned.one_of_everything(extracted("notes.md", "\n\n".join(poisoned.SAID)).document)
    poisoned.poison()
    return found


def test_nothing_that_was_written_runs_in_a_browser(known, page):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    document = reverse("document", args=[known["file_id"]])
    addresses = [
        *(f"{document}?tab={tab}" for tab in ("text", "source", "extractions", "outputs", "propositions", "lineage")),
        *(reverse(name, args=[known[key]]) for name, key in (
            ("chat", "chat_id"), ("chat-batches", "chat_id"), ("batch", "batch_id"), ("review-candidate", "candidate_id"),
            ("proposition", "proposition_id"), ("import", "import_id"), ("processing", "run_id"),
        )),
        *(reverse(name) for name in ("home", "chats", "review", "propositions", "activity", "documents", "collections", "imports", "talk")),
        f"{reverse('graph')}?chat={known['chat_id']}",
        f"{reverse('context')}?topic={RUNS}",
        f"{reverse('search')}?q={RUNS}",
        *(reverse(f"admin:{name}_changelist") for name in ("coverage_chat", "graphctx_proposition", "extraction_document", "osii_processingitem")),
    ]  # fmt: skip
    shown = 0
    for address in addresses:
        assert page.goto(address).status == 200, address
        assert page.locator("img[src=x], svg[onload], a[href^='javascript:']").count() == 0, address
        shown += "onerror=alert" in page.locator("body").inner_text()
    assert dialogs == []
    assert shown > 15
