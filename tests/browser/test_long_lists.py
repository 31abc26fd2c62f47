"""Lists of 10,000 rows: they open, are paged to the end and filtered, and are as accessible as short ones."""

from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.db.models import Model
from django.utils import timezone
from playwright.sync_api import expect

from extraction.models import Run
from tests.browser.test_every_page import PHONE, WIDE, faults
from tests.osii import rows

ROWS = 10_000


def multiply(row: Model, **differing: str) -> None:
    """Make the row one of ROWS that are like it, in the database itself. ``differing`` are its columns that must not repeat,
    as SQL of the number ``n``.
    """
    columns = ", ".join(f'"{field.column}"' for field in row._meta.concrete_fields if not field.generated)
    pairs = ", ".join(f"'{column}', {sql}" for column, sql in differing.items())
    table, key = row._meta.db_table, row._meta.pk.column
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{table}" ({columns}) SELECT {", ".join(f"made.{one}" for one in columns.split(", "))} '
            f'FROM "{table}" AS old, generate_series(2, {ROWS}) AS n, '
            f"LATERAL jsonb_populate_record(old, jsonb_build_object({pairs})) AS made "
            f'WHERE old."{key}" = %s',
            [row.pk],
        )


@pytest.fixture
def long_lists(transactional_db) -> None:
    number = "lpad(n::text, 5, '0')"
    chat, now = rows.chat(0, title="Lamp 00001"), timezone.now()
    multiply(chat, id="md5(n::text)::uuid", external_id="n", title=f"'Lamp ' || {number}")
    run = rows.run(chat, started_at=now, finished_at=now)
    multiply(run, id="md5(n::text)::uuid")
    document = rows.document("lamp 00001.md")
    multiply(
        document,
        file_id="'sha256-' || encode(sha256(n::text::bytea), 'hex')",
        filename=f"'lamp ' || {number} || '.md'",
        primary_id="NULL",
    )
    claim = rows.proposition("Lamp 00001 is lit.", chat.learner)
    multiply(claim, id="md5(n::text)::uuid", text=f"'Lamp ' || {number} || ' is lit.'", identity="md5(n::text)")
    assert Run.objects.count() == ROWS


def test_lists_of_ten_thousand_open_are_paged_and_filtered(open_context, long_lists, rq_connection):
    page = open_context(viewport=WIDE).new_page()
    wrong = {}
    for address, name in {
        "/chats/": "Lamp 07777",
        "/documents/": "lamp 07777.md",
        "/propositions/": "Lamp 07777 is lit.",
        "/activity/?view=completed": "",
    }.items():
        page.set_viewport_size(WIDE)
        page.goto(address)
        pages = page.locator("nav.pages").last
        expect(pages).to_contain_text("of 10,000")
        pages.get_by_role("link").nth(-2).click()  # the last number, before Next
        expect(page.locator("nav.pages").last).to_contain_text("10,000 of 10,000")
        expect(page.locator("nav.pages").last.get_by_role("link", name="Next")).to_have_count(0)
        page.set_viewport_size(PHONE)
        if faulty := faults(page):
            wrong[address] = faulty
        if name:
            search = page.get_by_role("searchbox").last
            search.fill("07777")
            search.press("Enter")
            expect(page.get_by_role("link", name=name)).to_be_visible()
            expect(page.locator("nav.pages").last).to_contain_text("1–1 of 1")
            assert "q=07777" in urlsplit(page.url).query
    assert wrong == {}
