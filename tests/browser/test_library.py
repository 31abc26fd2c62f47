"""The library's main job in a browser: add a file, process it, upgrade its extraction, promote, mend what became stale."""

from pathlib import Path

from django.conf import settings
from playwright.sync_api import Page, expect

from extraction.models import Document

PDF = Path(settings.BASE_DIR, "osii", "samples", "documents", "formats", "inspecting-a-heat-pump.pdf")


def choose_plan(page: Page) -> None:
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_role("button", name="Start with 1 document").click()


def wait_until_done(page: Page) -> None:
    """The page of the run follows it by itself, without a reload."""
    expect(page.locator("#run-live .live-percent")).to_have_text("100 %")


def test_a_file_becomes_a_document_and_its_outputs_stay_current(page, work):
    page.goto("/intake/")
    page.get_by_label("Files", exact=True).set_input_files(PDF)
    expect(page.get_by_role("checkbox", name="Search chunks")).to_be_checked()
    page.get_by_role("button", name="Upload and preview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What will happen")
    assert not Document.objects.exists()
    page.get_by_role("button", name="Add 1 file").click()
    work("library")
    wait_until_done(page)

    document = Document.objects.get()
    first = document.primary_id
    page.goto(f"/documents/{document.pk}/?tab=extractions")
    page.get_by_role("link", name="Upgrade extraction…").click()
    page.get_by_label("Extractor", exact=True).select_option("pdf-tables")
    page.get_by_label("Save as another version").check()
    choose_plan(page)
    work("library")
    wait_until_done(page)

    page.goto(f"/documents/{document.pk}/?tab=extractions")
    expect(page.get_by_role("row", name="pdf-tables")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare two versions")).to_be_visible()
    page.get_by_text("Promote…").click()
    page.get_by_role("button", name="Make it primary and preserve the previous version").click()
    document.refresh_from_db()
    assert document.primary_id != first

    page.get_by_role("link", name="Outputs", exact=True).click()
    chunks = page.get_by_role("row", name="Chunks").first
    expect(chunks).to_contain_text("stale")
    page.goto(f"/intake/process/?planned=1&ids={document.pk}&chunks=on")
    choose_plan(page)
    work("library")
    wait_until_done(page)
    page.goto(f"/documents/{document.pk}/?tab=outputs")
    expect(page.get_by_role("row", name="Chunks").first).to_contain_text("current")

    # Back to the former primary: what was made of it is there still.
    page.goto(f"/documents/{document.pk}/?tab=extractions")
    page.get_by_text("Roll back…").click()
    page.get_by_role("button", name="Roll back", exact=True).click()
    page.get_by_role("link", name="Outputs", exact=True).click()
    expect(page.get_by_role("row", name="Chunks").first).to_contain_text("current")
