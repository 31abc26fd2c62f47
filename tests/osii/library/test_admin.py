"""Which method makes a kind of output is chosen in the admin, within what the method takes."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from osii.library import methods, outputs
from osii.library.models import OutputSetting

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def post(admin: Client, **fields: str) -> str:
    form = {"kind": "chunks", "method": "sentences", "options": "{}", "chosen": "on"} | fields
    return admin.post(reverse("admin:osii_outputsetting_add"), form, follow=True).content.decode()


def test_options_are_checked_and_then_wanted(admin):
    assert "no method &#x27;novel&#x27;" in post(admin, method="novel")
    assert "no option &#x27;length&#x27;" in post(admin, options='{"length": 3}')
    assert "chunk_size is 10" in post(admin, options='{"chunk_size": 10}')
    assert "Give an object" in post(admin, options="[1]")
    assert not OutputSetting.objects.exists()
    post(admin, options='{"chunk_size": 800}')
    assert methods.wanted("chunks").options == {"chunk_size": 800, "chunk_overlap": 100}
    assert (
        "Another method of this kind is chosen" in post(admin, method="sentences") or OutputSetting.objects.count() == 1
    )


def test_an_enrichment_that_is_chosen_is_what_current_asks_for(admin, document):
    outputs.make(document.pk, "enrichment")
    post(admin, kind="enrichment", method="entities")
    assert methods.chosen("enrichment") == "entities"
    assert outputs.current(document, "enrichment") is None


def test_the_lists_open(admin, document):
    outputs.make(document.pk, "chunks")
    for model in ("output", "chunk", "outputsetting"):
        assert admin.get(reverse(f"admin:osii_{model}_changelist")).status_code == 200
    assert admin.get(reverse("admin:osii_output_add")).status_code == 403
