"""What a plan foretells of time, tokens and cost, from the documents that were done last."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from coverage.ids import new_id
from coverage.services import get_or_create_learner
from extraction.models import Batch, LanguageModel, ModelUse
from osii.library import methods, plan
from osii.library.estimates import Estimate, estimate
from osii.library.models import Output
from osii.library.requests import Request
from osii.library.run_models import ProcessingStep
from osii.processing_table import planned

from . import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def model() -> dict[str, str]:
    row = LanguageModel.objects.create(name="fast", model="m-1", base_url="http://127.0.0.1:9/v1", default=True)
    return {"name": row.name}


def done(step: str, seconds: int) -> Output:
    output = rows.output(rows.version(rows.document(f"{new_id()}.md")), methods.wanted(step))
    run, began = rows.run(output.document, steps=(step,)), timezone.now()
    ProcessingStep.objects.create(
        item=run.items.get(), step=step, status="succeeded", attempt=1, output=output, started_at=began,
        finished_at=began + timedelta(seconds=seconds),
    )  # fmt: skip
    return output


def used(model: dict[str, str], number: int, batch: Batch | None = None, **more: object) -> None:
    values = {"agent": "extract-worker" if batch else "synthesizer", "cost": Decimal(number) / 100} | more
    usage = {"requests": 1, "input_tokens": 100 * number, "output_tokens": 10 * number}
    ModelUse.objects.create(batch=batch, run=new_id(), attempt=1, model=model, usage=usage, **values)


def test_the_time_is_between_the_quartiles_of_the_latest():
    for seconds in (3, 1, 4, 2):
        done("chunks", seconds)
    wanted = methods.wanted("chunks")
    assert estimate("chunks", wanted.method, wanted, 10) == Estimate()  # of four nothing is foretold
    done("chunks", 100)
    assert estimate("chunks", wanted.method, wanted, 10) == Estimate(seconds=(20.0, 40.0))
    assert estimate("chunks", wanted.method, wanted, 0) == Estimate()
    assert estimate("chunks", "another", wanted, 10) == Estimate()


def test_a_synthesis_foretells_what_its_model_will_read_and_cost(model, settings):
    settings.OSII_CURRENCY = "USD"
    for number in (3, 1, 5, 2, 4):
        used(model, number)
        used({"name": "another"}, 1000)
    rows.version(rows.document("a.md"))
    rows.version(rows.document("b.md"))
    made = plan.make(Request.of({"scope": {"all": True}, "synthesizer_name": "llm"}))
    assert made.step("synthesis").estimate == Estimate(None, (440, 880), (Decimal("0.04"), Decimal("0.08")))
    shown = made.step("synthesis").to_dict()
    assert [Decimal(one) for one in shown["estimated_cost"]] == [Decimal("0.04"), Decimal("0.08")]
    lines = list(planned({"preview": made.to_dict(), "blocked": [], "blocked_count": 0}))
    assert "Synthesis: 440 to 880 tokens, 0.0400 USD to 0.0800 USD" in lines
    used(model, 3, cost=None)
    assert estimate("synthesis", "llm", methods.wanted("synthesis", "llm"), 1).cost is None


def test_propositions_are_counted_by_document_with_all_their_batches(model):
    learner = get_or_create_learner("Ada")
    wanted = methods.wanted("propositions", "llm")
    for number in range(1, 6):
        version = rows.version(rows.document(f"{number}.md", learner=learner))
        rows.output(version, wanted)
        for position in (1, 2):
            batch = Batch.objects.create(
                document=version.document, extraction_id=version.pk, attempt_token=new_id(), worker="llm", model=model,
                first_position=position, last_position=position, tokens=10, status="succeeded", reason="Read.",
            )  # fmt: skip
            used(model, number, batch)
    used(model, 1000)  # a synthesis is no reading
    found = estimate("propositions", "llm", wanted, 3)
    assert (found.tokens, found.cost) == ((1320, 2640), (Decimal("0.12"), Decimal("0.24")))
    assert estimate("propositions", "rules", methods.wanted("propositions", "rules"), 3) == Estimate()


def test_the_page_of_the_plan_shows_them(model, client, django_user_model, rq_connection, settings):
    settings.OSII_CURRENCY = "USD"
    client.force_login(django_user_model.objects.create_superuser("boss"))
    for number in range(1, 6):
        used(model, number)
    rows.version(rows.document("a.md"))
    page = client.get(reverse("intake-process"), {"planned": "1", "synthesis": "llm"})
    assert "220 to 440 tokens, 0.0200 USD to 0.0400 USD" in page.text
