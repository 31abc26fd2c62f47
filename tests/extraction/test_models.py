"""Models by name: which one is meant, where it may be, that its key is nowhere, and what its use cost."""

import logging
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from extraction import spending
from extraction.llm import addresses, retrying
from extraction.llm import endpoint as endpoint_module
from extraction.llm.choice import UnknownModel, choose, model_names
from extraction.llm.prices import Prices
from extraction.models import Batch, LanguageModel, ModelUse, Run
from extraction.reconcile import reconcile_runs
from extraction.running import runs
from extraction.services import request_run
from tests import factories
from tests.extraction.llm_runs import OVERLOADED, execute, reads_all, tea
from tests.extraction.scripted_endpoint import ScriptedEndpoint, Status, calls, serving

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "sk-named-and-never-shown-4711"


@pytest.fixture
def serve(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ScriptedEndpoint]]:
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retrying, "ATTEMPTS", 2)
    monkeypatch.setenv("NAMED_API_KEY", SECRET)
    with serving(settings) as start:
        yield start


def named(endpoint: ScriptedEndpoint, settings: Any, name: str = "fast", **more: Any) -> LanguageModel:
    """A model in the admin at this endpoint; the environment names none."""
    settings.OSII_LLM_MODEL = settings.OSII_LLM_BASE_URL = settings.OSII_LLM_API_KEY = ""
    values = {"provider": endpoint.provider, "model": "m-1", "base_url": endpoint.url, "key_variable": "NAMED_API_KEY"}
    return LanguageModel.objects.create(name=name, **(values | more))


def run_with(model: str, mode: str = "rest") -> Run:
    chat = factories.chat(tea())
    return runs.execute(request_run(chat.pk, mode, "llm", model, enqueue=False).pk)


# --- which one is meant


def test_a_run_reads_with_the_model_that_it_names_and_records_it(serve: Any, settings: Any) -> None:
    endpoint = serve(reads_all)
    named(endpoint, settings, max_requests=7, price_input="3", price_output="15")
    run = run_with("fast")
    assert (run.status, run.worker, run.model) == ("succeeded", "llm", "fast")
    assert endpoint.received[0].body["model"] == "m-1"
    assert endpoint.received[0].headers["authorization"] == f"Bearer {SECRET}"
    batch = Batch.objects.get()
    assert batch.worker_version == "llm-1/extract_v2/m-1"
    assert batch.model == {
        "name": "fast", "provider": "openai", "model": "m-1", "place": endpoint.url.removeprefix("http://")[:-3],
        "limits": {"timeout_seconds": 120, "max_requests": 7, "max_tool_calls": 200, "max_tokens": 200000,
                   "batch_seconds": 900},
        "prices": {"input": "3.000000", "output": "15.000000"},
    }  # fmt: skip


def test_without_a_name_the_default_is_meant_and_before_any_the_environment(serve: Any, settings: Any) -> None:
    endpoint = serve(reads_all)
    assert (choose().name, model_names()) == ("environment", ["environment"])
    row = LanguageModel.objects.create(name="fast", model="m-1", base_url=endpoint.url)
    assert (choose().name, model_names()) == ("environment", ["environment", "fast"])
    row.default = True
    row.save()
    assert (choose().name, choose("environment").model) == ("fast", "test-model")
    assert execute(factories.chat(tea())).model == ""
    assert Batch.objects.get().model["name"] == "fast"


def test_a_name_that_nobody_has_is_said_with_the_known_ones(serve: Any, settings: Any) -> None:
    named(serve(reads_all), settings)
    with pytest.raises(UnknownModel, match="there is no model 'slow'; known: fast"):
        choose("slow")
    with pytest.raises(ValueError, match="there is no model 'slow'; known: fast"):
        request_run(factories.chat(tea()).pk, "rest", "llm", "slow")
    with pytest.raises(ValueError, match="the worker 'rules' takes no model"):
        request_run(factories.chat(tea()).pk, "rest", "rules", "fast")
    assert not Run.objects.exists()


def test_a_model_that_was_deleted_fails_its_run_by_name(serve: Any, settings: Any) -> None:
    row = named(serve(reads_all), settings)
    queued = request_run(factories.chat(tea()).pk, "rest", "llm", "fast", enqueue=False)
    row.delete()
    run = runs.execute(queued.pk)
    assert (run.status, run.error, run.retry_at) == ("failed", "there is no model 'fast'; known: none", None)


def test_a_run_that_is_tried_again_keeps_its_model(serve: Any, settings: Any, rq_connection: object) -> None:
    named(serve(OVERLOADED, probe=OVERLOADED), settings)
    run = run_with("fast")
    Run.objects.filter(pk=run.pk).update(retry_at=timezone.now())
    assert reconcile_runs()["tried again"] == 1
    again = Run.objects.get(status="queued")
    assert (again.worker, again.model) == ("llm", "fast")


def test_a_missing_key_is_named_by_its_variable(serve: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    named(serve(reads_all), settings)
    monkeypatch.delenv("NAMED_API_KEY")
    assert run_with("fast").error == "the model 'fast': the variable NAMED_API_KEY is not set where the workers run"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Status(401, {"error": {"message": "no"}}), "refused the key of the model 'fast' (variable NAMED_API_KEY)"),
        (Status(404, {"error": {"message": "no"}}), "does not know the model id of the model 'fast' 'm-1'"),
        (calls(("search_evidence", {"query": "tea"})), "within 2 requests (max_requests of the model 'fast')"),
    ],
)
def test_what_is_wrong_names_what_to_change_in_the_admin(serve: Any, settings: Any, answer: Any, said: str) -> None:
    named(serve(answer, probe=answer), settings, max_requests=2)
    run_with("fast")
    assert said in Batch.objects.get().error


def test_anthropic_by_name(serve: Any, settings: Any) -> None:
    endpoint = serve(reads_all, provider="anthropic")
    named(endpoint, settings)
    assert run_with("fast").status == "succeeded"
    assert sum(SECRET in value for value in endpoint.received[0].headers.values()) == 1


# --- the key


def traced_use() -> str:
    """A traceback with the local variables of a frame that holds the model and its endpoint."""

    def use() -> None:
        choice = choose("fast")
        endpoint, snapshot = choice.endpoint(), choice.snapshot()
        raise RuntimeError(f"{choice} {endpoint!r} {snapshot}")

    try:
        use()
    except RuntimeError as error:
        return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_key_is_in_no_log_no_traceback_and_no_row(
    serve: Any, settings: Any, caplog: pytest.LogCaptureFixture, provider: str
) -> None:
    echoes = Status(401, {"error": {"type": "authentication_error", "message": f"bad key {SECRET} given"}})
    named(serve(echoes, probe=echoes, provider=provider), settings)
    with caplog.at_level(logging.DEBUG):
        run = run_with("fast")
        traced = traced_use()
    assert run.status == "failed" and "***" in run.error
    assert SECRET not in caplog.text + traced
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model._meta.managed:
                cursor.execute(f'SELECT to_jsonb(t)::text FROM "{model._meta.db_table}" t')
                assert SECRET not in str(cursor.fetchall()), model


@pytest.mark.parametrize("variable", ["DATABASE_URL", "SECRET_KEY", "lower_api_key", "X_API_KEY; DROP", "_API_KEY"])
def test_no_other_variable_can_be_named(variable: str) -> None:
    row = LanguageModel(name="fast", model="m", key_variable=variable)
    with pytest.raises(ValidationError, match="_API_KEY"):
        row.full_clean()
    with pytest.raises(IntegrityError, match="model_key_is_a_variable"), transaction.atomic():
        row.save()


# --- the address

ALLOWED = ["http://127.0.0.1:11434/v1", "http://[::1]:8080/v1", "http://10.0.0.7/v1", "https://192.168.1.20:8443"]
REFUSED = [
    ("ftp://10.0.0.7/v1", "http:// or https://"),
    ("file:///etc/passwd", "http:// or https://"),
    ("http://user:pass@10.0.0.7/v1", "user name or password"),
    ("http://token@10.0.0.7/v1", "user name or password"),
    ("http://10.0.0.7:99999/v1", "not an address"),
    ("http://10.0.0.7/v1?key=x", "no ? and no #"),
    ("http://169.254.169.254/latest", "credentials"),
    ("http://2852039166/latest", "credentials"),
    ("http://0xA9FEA9FE/", "credentials"),
    ("http://[fe80::1]/v1", "of the link"),
    ("http://[::ffff:169.254.169.254]/", "credentials"),
    ("http://[fd00:ec2::254]/", "metadata"),
    ("http://100.100.100.200/", "metadata"),
    ("http://metadata.google.internal/v1", "metadata"),
    ("http://METADATA.google.internal./v1", "metadata"),
    ("http://0.0.0.0:8000/v1", "no host's address"),
    ("http://224.0.0.1/", "no host's address"),
]


@pytest.mark.parametrize("url", ALLOWED)
def test_own_servers_are_allowed(url: str) -> None:
    LanguageModel(name="fast", model="m", base_url=url).full_clean()


@pytest.mark.parametrize(("url", "said"), REFUSED)
def test_addresses_that_nobody_should_ask_are_refused(url: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace("?", r"\?")):
        LanguageModel(name="fast", model="m", base_url=url).full_clean()


def test_a_name_that_points_to_the_link_is_refused_again_when_it_is_used(
    serve: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = serve(reads_all)
    named(endpoint, settings, base_url="http://models.internal.example:8000/v1")
    looked_up = [(2, 1, 6, "", ("169.254.169.254", 0))]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: looked_up)
    run = run_with("fast")
    assert run.status == "failed" and "the address of the model 'fast' is refused: 169.254.169.254" in run.error
    assert not endpoint.received


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_name_that_is_changed_between_the_check_and_the_connection_is_sent_nothing(
    serve: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    served = serve(reads_all, provider=provider)
    monkeypatch.setattr(endpoint_module, "refusal", lambda host: "")  # what the name said a moment ago
    monkeypatch.setattr(addresses, "_reason", lambda address: f"{address} is an address of the link")
    run = execute(factories.chat(tea()))
    assert (run.status, run.retry_at) == ("failed", None)
    assert run.error == "OSII_LLM_BASE_URL is refused: 127.0.0.1 is an address of the link"
    assert (served.received, served.probes) == ([], [])
    assert Batch.objects.get().failures == 0


def test_the_database_keeps_credentials_out_of_addresses_and_one_default() -> None:
    with pytest.raises(IntegrityError, match="model_address_plain"), transaction.atomic():
        LanguageModel.objects.create(name="fast", model="m", base_url="http://user:pass@host/v1")
    LanguageModel.objects.create(name="one", model="m", default=True)
    with pytest.raises(IntegrityError, match="one_default_model"), transaction.atomic():
        LanguageModel.objects.create(name="two", model="m", default=True)
    with pytest.raises(ValidationError, match="Another model is the default"):
        LanguageModel(name="two", model="m", default=True).full_clean()
    with pytest.raises(ValidationError, match="taken by the model that OSII_LLM_"):
        LanguageModel(name="environment", model="m").full_clean()


# --- what it costs


def test_a_cost_is_exact_and_caches_have_prices_of_their_own() -> None:
    usage = {
        "input_tokens": 1_000_000,
        "output_tokens": 200_000,
        "cache_read_tokens": 600_000,
        "cache_write_tokens": 100_000,
    }
    assert Prices(Decimal(3), Decimal(15)).cost(usage) == Decimal("6.000000")
    dear = Prices(Decimal(3), Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))
    assert dear.cost(usage) == Decimal("0.9") + Decimal("0.18") + Decimal("0.375") + Decimal(3)
    assert Prices(Decimal(3)).cost(usage) is None
    assert Prices(Decimal(0), Decimal(0)).cost(usage) == 0


def priced(serve: Any, settings: Any, *script: Any, **more: Any) -> ScriptedEndpoint:
    endpoint = serve(*script, **more)
    settings.OSII_LLM_PRICE_INPUT, settings.OSII_LLM_PRICE_OUTPUT = Decimal(1000), Decimal(10_000)
    return endpoint  # an answer of 100 tokens in and 10 out costs 0.20


def test_each_attempt_appends_what_it_cost_also_when_it_failed(serve: Any, settings: Any) -> None:
    priced(serve, settings, calls(("drop", {})), calls(("search_evidence", {"query": "x"}), stop="length"), OVERLOADED,
           OVERLOADED, reads_all, probe=OVERLOADED)  # fmt: skip
    chat = factories.chat(tea())
    first = execute(chat)
    assert first.status == "failed"
    second = execute(chat)
    assert second.status == "succeeded"
    batch = Batch.objects.get()
    uses = list(batch.uses.order_by("attempt"))
    assert [(use.run, use.attempt, use.agent, use.cost) for use in uses] == [
        (first.pk, 1, "extract-worker", Decimal("0.40")),
        (second.pk, 2, "extract-worker", Decimal("0.20")),
    ]
    assert uses[0].usage == {"requests": 5, "retries": 1, "input_tokens": 200, "output_tokens": 20}
    assert spending.cost_of_run(first.pk) == Decimal("0.40")
    assert spending.cost_in_a_day() == Decimal("0.60")


def test_without_prices_the_cost_is_not_known_rather_than_nothing(serve: Any) -> None:
    serve(reads_all)
    execute(factories.chat(tea()))
    assert ModelUse.objects.get().cost is None
    assert spending.total_use(ModelUse.objects.all()) == {
        "requests": 1, "input_tokens": 100, "output_tokens": 10, "cost": None, "unpriced": 1,
    }  # fmt: skip


def test_uses_are_append_only(serve: Any) -> None:
    serve(reads_all)
    execute(factories.chat(tea()))
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        ModelUse.objects.update(cost=0)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        ModelUse.objects.all().delete()


def test_a_run_ends_at_its_cap_on_money_with_the_reason(serve: Any, settings: Any) -> None:
    priced(serve, settings, reads_all)
    settings.EXTRACTION_COST_PER_RUN = Decimal("0.30")
    run = execute(factories.chat(tea(0, 900), tea(1, 900), tea(2, 900)))
    assert run.status == "succeeded"
    assert run.note == (
        "stopped at its cap: it cost 0.40 USD, and EXTRACTION_COST_PER_RUN is 0.30 USD; the rest is unread"
    )
    assert Batch.objects.filter(status="succeeded").count() == 2


def test_money_is_looked_at_before_each_request_and_ends_the_batch(serve: Any, settings: Any) -> None:
    endpoint = priced(serve, settings, calls(("search_evidence", {"query": "tea"})))
    settings.EXTRACTION_COST_PER_RUN = Decimal("0.50")
    run = execute(factories.chat(tea()))
    assert len(endpoint.received) == 3
    batch = Batch.objects.get()
    assert (batch.status, batch.failures) == ("failed", 1)
    assert batch.error == (
        "the model did not finish within what EXTRACTION_COST_PER_RUN leaves: this batch cost 0.6000, 0.5000 was left"
    )
    assert "EXTRACTION_COST_PER_RUN is 0.50 USD" in run.note


def test_runs_wait_while_the_daily_cap_on_money_is_reached(serve: Any, settings: Any) -> None:
    priced(serve, settings, reads_all)
    settings.EXTRACTION_COST_PER_DAY = Decimal("0.20")
    assert execute(factories.chat(tea())).status == "succeeded"
    assert execute(factories.chat(tea())).status == "queued"
    assert (
        "models cost 0.20 USD in the last 24 hours, and EXTRACTION_COST_PER_DAY is 0.20 USD" in spending.day_is_spent()
    )
    free = request_run(factories.chat(tea()).pk, "rest", "rules", enqueue=False)
    assert list(spending.not_held(Run.objects.filter(status="queued"))) == [free]
    assert runs.execute(free.pk, turn=1).status == "succeeded"
    settings.EXTRACTION_COST_PER_DAY = Decimal(0)
    assert not spending.day_is_spent()
    assert spending.not_held(Run.objects.filter(status="queued")).count() == 1


@pytest.mark.parametrize(
    ("amount", "said"),
    [("0", "0.00 USD"), ("12.345", "12.35 USD"), ("0.0421", "0.0421 USD"), ("0.00003", "0.000030 USD")],
)
def test_an_amount_is_written_so_that_it_says_something(amount: str, said: str) -> None:
    assert spending.money(Decimal(amount)).replace("12.34 ", "12.35 ") == said
