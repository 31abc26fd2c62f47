"""The admin's pages, light and dark: accessible, and nothing is refused or fetched from elsewhere."""

from django.db.models import F
from django.urls import reverse
from playwright.sync_api import Page

from coverage.models import Chat
from extraction.models import ExtractionVersion
from tests.browser.test_every_page import WIDE, violations
from tests.osii.admin_rows import everything


def serious(page: Page) -> list[str]:
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += [
            f"{scheme}: {one['impact']} {one['id']}: {[node['target'] for node in one['nodes']][:3]}"
            for one in violations(page)
            if one["impact"] in {"serious", "critical"}
        ]
    return found


def test_a_list_a_row_and_what_is_confirmed_are_accessible(open_context, transactional_db):
    everything()
    page = open_context(viewport=WIDE, reduced_motion="reduce").new_page()
    other = ExtractionVersion.objects.exclude(document__primary=F("pk")).first()
    found = {}
    for action, row in (("extract_rest", Chat.objects.first()), ("promote_to_primary", other)):
        page.goto(reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_changelist"))
        if row is other:
            found["list"] = serious(page)
        page.locator(f'input.action-select[value="{row.pk}"]').check()
        page.locator("select[name=action]").select_option(action)
        page.get_by_role("button", name="Go", exact=True).click()
        page.locator("input[name=confirmed]").wait_for(state="attached")
        found[action] = serious(page)
    page.goto(reverse("admin:extraction_extractionversion_change", args=[other.pk]))
    found["row"] = serious(page)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
