"""Finding chats, propositions, documents and runs by title or id: on the search page, above the passages."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from coverage.services import get_or_create_learner
from osii.models import ChatImport
from osii.permissions import IMPORT, SEE_CHATS, SEE_DOCUMENTS, SEE_PROPOSITIONS
from osii.web import finding
from tests.osii import rows
from tests.osii.library import rows as library

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("add_chatimport"))
    return client


def found(q: str, **more: object) -> dict[str, int]:
    """{kind: how many rows}, of the kinds that have any."""
    return {things.name: len(things.rows) for things in finding.find(q, **more) if things.rows}


def make(word: str, number: int = 1) -> None:
    """One of each kind with the word in its title."""
    chat = rows.chat(count=1, title=f"{word} chat {number}")
    rows.run(chat)
    rows.proposition(f"{word} floats, {number} times.")
    rows.document(f"{word}-{number}.md", number)
    ChatImport.objects.create(files=[{"name": f"{word}-{number}.json", "size": 1}])


def test_every_kind_is_found_by_a_part_of_its_title() -> None:
    make("Zebrafish")
    assert found("ZEBRA") == {"Chats": 1, "Propositions": 1, "Documents": 1, "Runs": 2}
    assert found("ZEBRA", may=lambda permission: permission != IMPORT) == {
        "Chats": 1,
        "Propositions": 1,
        "Documents": 1,
        "Runs": 1,
    }
    assert found("zebu") == found(" ") == found("z" * 201) == {}
    for permission, kind in ((SEE_CHATS, "Chats"), (SEE_PROPOSITIONS, "Propositions"), (SEE_DOCUMENTS, "Documents")):
        assert found("ZEBRA", may=permission.__eq__) == {kind: 1}
    assert found("%") == found("_") == found("name") == found("size") == {}


def test_every_kind_is_found_by_the_beginning_of_its_id() -> None:
    chat = rows.chat(count=1)
    document = rows.document()
    run, processing = rows.run(chat), library.run(document)
    for kind, key in (("Chats", chat.pk), ("Propositions", rows.proposition().pk), ("Runs", run.pk)):
        assert found(str(key))[kind] == found(key.hex)[kind] == found(str(key).upper())[kind] == 1
        assert found(str(key)[:-2])[kind] >= 1
    assert found(str(processing.pk)) == {"Runs": 1}
    assert found(document.pk) == found(document.pk[:20]) == {"Documents": 1}
    assert finding.id_range("0190a0") is finding.id_range("deadbeefs") is finding.id_range("-" * 12) is None


def test_processing_is_found_by_what_it_does() -> None:
    run = library.run(rows.document())
    titles = [row.title for things in finding.find("process lib") for row in things.rows]
    assert titles == [row.title for things in finding.find(str(run.pk)) for row in things.rows]
    assert len(titles) == 1


def test_a_learner_narrows_every_kind() -> None:
    make("Zebrafish")
    ada, ben = get_or_create_learner("Ada"), get_or_create_learner("Ben")
    assert found("zebra", learner=ben) == {}
    everything = found("zebra", learner=ada)
    assert everything["Propositions"] == 1
    assert "Documents" not in everything
    other = rows.chat(count=1, title="Zebras at night", learner=ben)
    rows.run(other)
    assert found("zebra", learner=ben) == {"Chats": 1, "Runs": 1}
    assert found(str(other.pk), learner=ada) == {}


def test_the_page_shows_them_escaped_and_leads_to_the_lists(staff: Client) -> None:
    for number in range(1, 8):
        make("<b>Zebra", number)
    shown = staff.get(reverse("search"), {"q": "<b>zebra", "mode": ""}).text
    assert "<b>Zebra" not in shown
    assert shown.count("&lt;b&gt;Zebra") >= 4 * finding.SHOWN
    for listing in ("chats", "propositions", "documents"):
        assert f'href="{reverse(listing)}?q=%3Cb%3Ezebra"' in shown
        assert "Zebra" in staff.get(reverse(listing), {"q": "<b>zebra"}).text
    narrowed = staff.get(reverse("search"), {"q": "<b>zebra", "type": "pdf"}).text
    assert "Zebra" not in narrowed


def test_imports_are_shown_to_those_who_may_see_them(client: Client) -> None:
    make("Zebrafish")
    client.force_login(rows.staff_user())
    assert "Zebrafish-1.json" not in client.get(reverse("search"), {"q": "zebra"}).text


def test_every_page_has_the_field_and_the_search_page_its_own(staff: Client) -> None:
    assert 'id="find-everything"' in staff.get(reverse("home")).text
    searching = staff.get(reverse("search")).text
    assert 'id="find-everything"' not in searching
    assert 'data-shortcut="/"' in searching


def test_the_number_of_queries_does_not_grow(staff: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert "Zebra" in staff.get(reverse("search"), {"q": "zebra", "mode": ""}).text
        return len(captured)

    make("Zebra")
    queries()  # what is kept for the process is looked up once
    few = queries()
    for number in range(2, 30):
        make("Zebra", number)
    assert queries() == few <= 31
