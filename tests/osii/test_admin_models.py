"""The admin of language models: who may set an address, what is refused, and that no key is ever shown."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from extraction.models import LanguageModel, ModelUse
from tests.osii import rows

pytestmark = pytest.mark.django_db

SECRET = "sk-in-the-environment-0815"
FORM = {
    "name": "fast", "model": "m-1", "provider": "openai", "base_url": "http://127.0.0.1:11434/v1",
    "key_variable": "FAST_API_KEY", "timeout_seconds": "60", "max_requests": "60", "max_tool_calls": "200",
    "max_tokens": "200000", "batch_seconds": "900", "price_input": "3", "price_output": "15", "price_cache_read": "",
    "price_cache_write": "",
}  # fmt: skip
ADD = "admin:extraction_languagemodel_add"


@pytest.fixture
def superuser(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setenv("FAST_API_KEY", SECRET)
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("view_languagemodel", "change_languagemodel", "add_languagemodel"))
    return client


def change(row: LanguageModel) -> str:
    return reverse("admin:extraction_languagemodel_change", args=[row.pk])


def test_a_superuser_adds_a_model_and_sees_that_its_key_is_set_but_not_the_key(superuser: Client) -> None:
    assert superuser.post(reverse(ADD), FORM).status_code == 302
    row = LanguageModel.objects.get()
    assert (row.name, row.base_url, row.timeout_seconds, str(row.price_input)) == (
        "fast", "http://127.0.0.1:11434/v1", 60, "3.000000",
    )  # fmt: skip
    for url in (change(row), reverse("admin:extraction_languagemodel_changelist")):
        page = superuser.get(url).text
        assert "FAST_API_KEY is set" in page
        assert SECRET not in page


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"base_url": "http://169.254.169.254/latest"}, "This address is refused: 169.254.169.254"),
        ({"base_url": "http://user:pass@10.0.0.7/v1"}, "no user name or password"),
        ({"base_url": "gopher://10.0.0.7"}, "http:// or https://"),
        ({"key_variable": "DATABASE_URL"}, "ends in _API_KEY"),
        ({"key_variable": SECRET}, "ends in _API_KEY"),
        ({"name": "environment"}, "taken by the model that OSII_LLM_*"),
        ({"name": "Two words"}, "lower-case letters"),
        ({"price_output": ""}, "or neither"),
        ({"price_input": "-1"}, "greater than or equal to 0"),
        ({"timeout_seconds": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_saved(superuser: Client, values: dict[str, str], said: str) -> None:
    page = superuser.post(reverse(ADD), FORM | values)
    assert page.status_code == 200
    assert said in page.text.replace("&#x27;", "'")
    assert not LanguageModel.objects.exists()


def test_a_second_default_is_refused_by_name(superuser: Client) -> None:
    LanguageModel.objects.create(name="slow", model="m", default=True)
    assert "Another model is the default" in superuser.post(reverse(ADD), FORM | {"default": "on"}).text


def test_staff_change_limits_and_prices_but_not_where_requests_go(staff: Client) -> None:
    row = LanguageModel.objects.create(
        name="fast", model="m", base_url="http://10.0.0.7/v1", key_variable="OLD_API_KEY"
    )
    forged = FORM | {"base_url": "http://evil.example/v1", "provider": "anthropic", "max_requests": "9"}
    assert staff.post(change(row), forged).status_code == 302
    row.refresh_from_db()
    assert (row.base_url, row.provider, row.key_variable) == ("http://10.0.0.7/v1", "openai", "OLD_API_KEY")
    assert (row.max_requests, str(row.price_output)) == (9, "15.000000")
    assert 'name="base_url"' not in staff.get(change(row)).text
    assert staff.get(reverse(ADD)).status_code == 403
    assert staff.post(reverse(ADD), FORM).status_code == 403


def test_a_model_may_go_and_what_it_cost_stays(superuser: Client) -> None:
    batch = rows.batch(rows.chat())
    row = LanguageModel.objects.create(name="fast", model="m")
    ModelUse.objects.create(
        batch=batch, run=batch.run_id, attempt=1, agent="extract-worker", model={"name": "fast"}, usage={}, cost="1.5"
    )
    superuser.post(reverse("admin:extraction_languagemodel_delete", args=[row.pk]), {"post": "yes"})
    assert not LanguageModel.objects.exists()
    assert "1.500000" in superuser.get(reverse("admin:extraction_modeluse_changelist")).text
