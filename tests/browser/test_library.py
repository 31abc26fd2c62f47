"""The library's main job in a browser: add a file, process it, upgrade its extraction, promote, mend what became stale.

By mouse, by keyboard alone and without script; and in two tabs.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from extraction.documents import services
from extraction.models import Document, Promotion
from tests.browser.people import WAYS, Mouse

PDF = Path(settings.BASE_DIR, "osii", "samples", "documents", "formats", "inspecting-a-heat-pump.pdf")


def follow_plan(person: Mouse, work: Callable[[str], None]) -> None:
    """From a plan to the end of its run, whose page follows it."""
    page = person.page
    person.press(page.get_by_role("button", name="Start with 1 document"))
    see_it_done(person, work)


def see_it_done(person: Mouse, work: Callable[[str], None]) -> None:
    page = person.page
    expect(page.locator("#run-live .live-percent")).to_have_text("0 %")
    work("library")
    person.until(lambda: expect(page.locator("#run-live .live-percent")).to_have_text("100 %"))


def chunks_are(page: Page, state: str) -> None:
    expect(page.get_by_role("row", name="Chunks").first).to_contain_text(state)


@pytest.mark.parametrize("way", WAYS)
def test_a_file_becomes_a_document_and_its_outputs_stay_current(open_context, work, work_here, way):
    page = open_context(java_script_enabled=way != "no script").new_page()
    person, work = WAYS[way](page), work if way == "mouse" else work_here
    page.goto("/intake/")
    person.give(page.get_by_label("Files", exact=True), PDF)
    expect(page.get_by_role("checkbox", name="Search chunks")).to_be_checked()
    person.press(page.get_by_role("button", name="Upload and preview"))
    expect(page.get_by_role("heading", level=1)).to_have_text("What will happen")
    assert not Document.objects.exists()
    person.press(page.get_by_role("button", name="Add 1 file"))
    see_it_done(person, work)

    document = Document.objects.get()
    first = document.primary_id
    page.goto(f"/documents/{document.pk}/?tab=extractions")
    person.press(page.get_by_role("link", name="Upgrade extraction…"))
    person.choose(page.get_by_label("Extractor", exact=True), "pdf-tables")
    person.tick(page.get_by_label("Save as another version"))
    person.press(page.get_by_role("button", name="Show the plan"))
    follow_plan(person, work)

    page.goto(f"/documents/{document.pk}/?tab=extractions")
    expect(page.get_by_role("row", name="pdf-tables")).to_be_visible()
    person.press(page.get_by_role("button", name="Compare"))
    expect(page.get_by_role("heading", name="Compare two versions")).to_be_visible()
    person.press(page.get_by_text("Promote…"))
    expect(page.locator("details.promote[open]").first).to_contain_text("become stale")
    person.press(page.get_by_role("button", name="Make it primary and preserve the previous version"))
    expect(page.get_by_role("link", name="Make what is missing anew…")).to_be_visible()
    document.refresh_from_db()
    assert document.primary_id != first

    person.press(page.get_by_role("link", name="Outputs", exact=True))
    chunks_are(page, "stale")
    page.go_back()  # the message was for once; its plan is in an address
    page.goto(f"/intake/process/?planned=1&ids={document.pk}&chunks=on")
    follow_plan(person, work)
    page.goto(f"/documents/{document.pk}/?tab=outputs")
    chunks_are(page, "current")

    # Back to the former primary: what was made of it is there still.
    page.goto(f"/documents/{document.pk}/?tab=extractions")
    person.press(page.get_by_text("Roll back…"))
    person.press(page.get_by_role("button", name="Roll back", exact=True))
    person.press(page.get_by_role("link", name="Outputs", exact=True))
    chunks_are(page, "current")


@pytest.fixture
def three_versions(tmp_path) -> Document:
    path = tmp_path / "notes.txt"
    path.write_text("One line.\n\nAnother.\n")
    file_id = services.add_file(path).file_id
    services.extract(file_id)
    for _ in range(2):
        services.extract(file_id, policy=services.SAVE_VARIANT, force=True)
    return Document.objects.get(pk=file_id)


def test_two_tabs_promote_and_the_one_with_the_old_dialog_changes_nothing(open_context, three_versions):
    context = open_context()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(f"/documents/{three_versions.pk}/?tab=extractions")
    second.set_viewport_size({"width": 390, "height": 844})
    others = [version.pk for version in three_versions.versions.exclude(pk=three_versions.primary_id)]
    for page, version in zip((first, second), others, strict=True):
        row = page.get_by_role("row", name=version)
        row.get_by_text("Promote…").click()
        button = row.get_by_role("button", name="Make it primary")
        box = button.bounding_box()
        assert box["x"] + box["width"] < page.viewport_size["width"]  # the list cuts off what is wider than it
        button.click()
    expect(first.locator("#messages").get_by_text(f"{others[0]} is in force now.")).to_be_visible()
    expect(second.locator("#messages").get_by_text("Nothing was changed")).to_be_visible()
    three_versions.refresh_from_db()
    assert three_versions.primary_id == others[0]
    assert Promotion.objects.filter(after=others[1]).count() == 0
    # The page that was sent back shows what is so now, and from there it works.
    row = second.get_by_role("row", name=others[1])
    row.get_by_text("Promote…").click()
    row.get_by_role("button", name="Make it primary").click()
    expect(second.locator("#messages").get_by_text(f"{others[1]} is in force now.")).to_be_visible()
