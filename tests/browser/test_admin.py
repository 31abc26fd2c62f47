"""The admin's pages, light and dark: accessible, and nothing is refused or fetched from elsewhere."""

import pytest
from django.contrib import admin
from django.urls import reverse

from coverage.models import Chat
from extraction.models import Batch, ExtractionVersion
from tests.browser.test_every_page import WIDE, violations
from tests.osii.admin_rows import everything

OURS = [
    model for model in admin.site._registry if model._meta.app_label in {"coverage", "extraction", "graphctx", "osii"}
]


@pytest.mark.timeout(600)  # some seventy pages
def test_every_list_and_row_is_accessible(open_context, transactional_db):
    everything()
    addresses = ["/admin/"]
    for model in OURS:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        row = model._default_manager.order_by("pk").first()
        addresses += [reverse(f"{name}_changelist"), reverse(f"{name}_change", args=[row.pk])]
    page = open_context(viewport=WIDE, reduced_motion="reduce").new_page()
    found = {}
    for number, address in enumerate(addresses):
        page.emulate_media(color_scheme="dark" if number % 4 in {1, 2} else "light")
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        wrong = [
            f"{one['impact']} {one['id']}: {[node['target'] for node in one['nodes']][:3]}"
            for one in violations(page)
            if one["impact"] in {"serious", "critical"}
        ]
        if wrong:
            found[address] = wrong
    assert found == {}


def test_an_action_is_confirmed_on_a_page_that_is_accessible(open_context, transactional_db):
    everything()
    page = open_context(viewport=WIDE, reduced_motion="reduce").new_page()
    for model, action in ((Chat, "extract_rest"), (Batch, "retry_parked"), (ExtractionVersion, "promote_to_primary")):
        page.goto(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
        boxes = page.locator("input.action-select")
        (boxes.last if model is ExtractionVersion else boxes.first).check()
        page.locator("select[name=action]").select_option(action)
        page.get_by_role("button", name="Go", exact=True).click()
        assert [one["id"] for one in violations(page) if one["impact"] in {"serious", "critical"}] == [], action
