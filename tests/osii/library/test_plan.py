"""What a plan counts, names and foretells."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.services import get_or_create_learner
from extraction.models import DocumentSource, ExtractorRule
from osii.library import methods, outputs, plan, plan_sql, staleness
from osii.library.requests import BadRequest, Conflict, Request
from osii.models import Collection

from . import rows, straightforward

pytestmark = pytest.mark.django_db

ALL = {"all": True}
QUERIES_OF_A_PLAN = 40


def ask(**fields) -> Request:
    return Request.of({"scope": ALL} | fields)


def counts(made: plan.Plan, step: str) -> tuple[int, int, int, int]:
    """(eligible, stale, current, blocked)"""
    shown = made.step(step).to_dict()
    return tuple(shown[f"{name}_count"] for name in ("eligible", "stale", "current", "blocked"))


def names(request: Request, step: str | None, state: str, **more) -> set[tuple[str, str]]:
    found, total = plan.listing(request, step, state, **more)
    assert total == len(found)
    return {(row["filename"], row.get("reason")) for row in found}


def reasons(made: plan.Plan, step: str) -> dict[tuple[str, str], int]:
    return {key: count for key, count in made.step(step).reasons.items() if count}


def test_missing_extractions_are_eligible_and_unreadable_types_are_blocked():
    rows.document("a.md")
    rows.version(rows.document("b.txt", mime="text/plain"))
    rows.version(rows.document("failed.md"), error="no_text: nothing in it")
    rows.document("c.bin", mime="application/octet-stream")
    request = ask(run_extraction=True)
    made = plan.make(request)
    assert counts(made, "extract") == (2, 0, 1, 1)
    assert (made.matched, made.extracted, made.eligible, made.blocked) == (4, 1, 2, 1)
    assert made.extractor_plan == [{"extension": "md", "extractor": "text", "count": 2}]
    assert names(request, "extract", "eligible") == {("a.md", ""), ("failed.md", "failed before")}
    assert names(request, "extract", "blocked") == {("c.bin", "no extractor reads this type")}
    assert names(request, "extract", "current") == {("b.txt", "")}
    assert {row["filename"] for row in made.sample} == {"a.md", "failed.md"}


def test_downstream_only_blocks_what_has_no_text():
    rows.document("a.md")
    rows.version(rows.document("b.md"))
    request = ask(enricher_name="statistics")
    made = plan.make(request)
    assert counts(made, "enrichment") == (1, 0, 0, 1)
    assert names(request, None, "blocked") == {("a.md", None)}
    assert names(request, "enrichment", "blocked", reason="no text") == {("a.md", "no text")}
    assert names(request, "enrichment", "blocked", reason="no learner") == set()


def test_extraction_in_the_same_run_makes_downstream_eligible():
    rows.document("a.md")
    rows.document("c.bin", mime="application/octet-stream")
    made = plan.make(ask(run_extraction=True, enricher_name="statistics"))
    assert reasons(made, "enrichment") == {("missing", "after extraction"): 1, ("blocked", "no text"): 1}


def test_another_extractor_makes_current_outputs_stale(document, bad_extractors):
    outputs.make(document.pk, "enrichment", "statistics")
    only = {"file_ids": [document.pk]}
    assert counts(plan.make(Request.of({"scope": only, "enricher_name": "statistics"})), "enrichment") == (0, 0, 1, 0)
    upgrade = {"scope": only, "run_extraction": True, "extract_mode": "reprocess", "extractor_name": "upper"}
    made = plan.make(Request.of(upgrade | {"enricher_name": "statistics"}))
    assert reasons(made, "extract") == {("stale", "another extractor made it"): 1}
    assert reasons(made, "enrichment") == {("stale", "extraction changed"): 1}


def test_reprocessing_counts_what_this_extractor_made_as_current_unless_forced(document, variant):
    only = {"file_ids": [document.pk]}
    again = {"scope": only, "run_extraction": True, "extract_mode": "reprocess"}
    assert reasons(plan.make(Request.of(again | {"extractor_name": "text"})), "extract") == {("current", ""): 1}
    assert reasons(plan.make(Request.of(again)), "extract") == {("current", ""): 1}
    forced = plan.make(Request.of(again | {"extractor_name": "text", "force": True}))
    assert reasons(forced, "extract") == {("stale", "to be extracted again"): 1}
    # A variant is there already, though it is not in force.
    saved = again | {"extractor_name": "upper", "extraction_policy": "save_variant"}
    assert reasons(plan.make(Request.of(saved)), "extract") == {("current", ""): 1}
    assert counts(plan.make(Request.of(saved | {"extraction_policy": "make_primary"})), "extract")[:2] == (1, 1)


def test_the_states_of_a_plan_are_those_of_staleness(extracted, document, variant, promote):
    outputs.make(document.pk, "enrichment", "statistics")
    outputs.make(extracted("b.md", "Another text, which is current and stays.").document.pk, "enrichment", "statistics")
    extracted("c.md", "A third one without an output.")
    rows.document("d.md")
    promote(variant)
    made = plan.make(ask(enricher_name="statistics"))
    assert reasons(made, "enrichment") == {
        ("stale", "extraction changed"): 1, ("current", ""): 1, ("missing", ""): 1, ("blocked", "no text"): 1,
    }  # fmt: skip
    derived = straightforward.counts(rows.all_documents(), methods.wanted("enrichment", "statistics"))
    assert {(state, reason): n for state, each in derived.items() for reason, n in each.items()} == reasons(
        made, "enrichment"
    )


def test_a_replaced_file_is_blocked_with_its_reason():
    old = rows.document("old.md", path="/files/one.md")
    rows.version(old)
    new = rows.document("new.md", path="/files/two.md")
    rows.version(new)
    DocumentSource.objects.create(document=new, path="/files/one.md", replaces=old)
    request = ask(enricher_name="statistics")
    assert names(request, "enrichment", "blocked") == {("old.md", "source file changed")}
    assert names(request, "enrichment", "eligible") == {("new.md", "")}


def test_scopes():
    learner = get_or_create_learner("Ada")
    one = rows.document("a.md", path="/home/ada/notes/a.md", learner=learner)
    two = rows.document("Report 1.PDF", path="/home/ada/notes_old/r.pdf", mime="application/pdf")
    rows.document("c%d_e.txt", path="/srv/c.txt", mime="text/plain")
    collection = Collection.objects.create(name="Physics")
    collection.documents.add(two)

    def matched(**scope) -> set[str]:
        request = Request.of({"scope": scope, "enricher_name": "statistics"})
        return {row["filename"] for row in plan.listing(request, None, "blocked")[0]}

    assert matched(all=True) == {"a.md", "Report 1.PDF", "c%d_e.txt"}
    assert matched(folder="/home/ada/notes") == matched(folder="/home/ada/notes/") == {"a.md"}
    assert matched(folder="/home/ada") == {"a.md", "Report 1.PDF"}
    assert matched(folder="/home/a") == set()
    assert matched(learner="Ada") == matched(file_ids=[one.pk]) == {"a.md"}
    assert matched(collection="physics") == matched(collection=str(collection.pk)) == {"Report 1.PDF"}
    assert matched(types=["application/pdf"]) == matched(types=["application/*"]) == {"Report 1.PDF"}
    assert matched(types=["text/*"], names=["*.md"]) == {"a.md"}
    assert (
        matched(names=["*.pdf"]) == matched(names=["report ?.pdf"]) == matched(names=["[qr]eport*"]) == {"Report 1.PDF"}
    )
    assert matched(names=["c%d*"]) == matched(names=["*_e*"]) == {"c%d_e.txt"}
    assert matched(names=["[!ac]*"]) == {"Report 1.PDF"}
    assert matched(names=["*.md", "*.txt"]) == {"a.md", "c%d_e.txt"}
    by_path = Request.of({"queue_paths": ["/home/ada/notes/a.md", "/srv"], "enricher_name": "statistics"})
    assert {row["filename"] for row in plan.listing(by_path, None, "blocked")[0]} == {"a.md", "c%d_e.txt"}


def test_scopes_by_reason_and_by_failure(extracted, document, variant, promote, monkeypatch):
    outputs.make(document.pk, "enrichment", "statistics")
    promote(variant)
    other = extracted("b.md", "Another text, which will fail.").document
    stale = {"stale": ["extraction changed"]}
    assert names(Request.of({"scope": stale, "enricher_name": "statistics"}), "enrichment", "eligible") == {
        ("notes.md", "extraction changed")
    }
    monkeypatch.setattr(type(methods.find("enrichment", "statistics")), "make", lambda *_: 1 / 0)
    assert outputs.make(other.pk, "enrichment", "statistics").status == "failed"
    failed = Request.of({"scope": {"failed": True}, "enricher_name": "statistics"})
    assert names(failed, "enrichment", "eligible") == {("b.md", "")}


def test_rules_that_look_at_names_decide_per_file(bad_extractors):
    ExtractorRule.objects.all().delete()
    ExtractorRule.objects.create(order=1, media_type="text/*", name_pattern="*.log", extractor="upper")
    ExtractorRule.objects.create(order=2, media_type="text/*", extractor="text")
    rows.document("a.LOG", mime="text/plain")
    rows.document("b.txt", mime="text/plain")
    made = plan.make(ask(run_extraction=True))
    assert {(line["extension"], line["extractor"]) for line in made.extractor_plan} == {
        ("log", "upper"),
        ("txt", "text"),
    }


def test_a_named_extractor_takes_its_types_and_those_of_named_documents():
    one = rows.document("a.json", mime="application/json")
    request = ask(run_extraction=True, extractor_name="text")
    assert counts(plan.make(request), "extract") == (0, 0, 0, 1)
    named = Request.of({"scope": {"file_ids": [one.pk]}, "run_extraction": True, "extractor_name": "text"})
    assert counts(plan.make(named), "extract") == (1, 0, 0, 0)


def test_a_plans_id_changes_with_what_it_would_do():
    rows.document("a.md")
    request = ask(run_extraction=True)
    before = plan.make(request).id
    assert plan.make(request).id == before
    assert plan.make(ask(run_extraction=True, extractor_name="text")).id != before
    rows.version(rows.document("b.md"))
    assert plan.make(request).id != before


def test_a_plan_asks_a_fixed_number_of_queries():
    def queries() -> int:
        request = ask(run_extraction=True, build_embeddings=True, synthesizer_name="default", enricher_name="default")
        with CaptureQueriesContext(connection) as captured:
            plan.make(request)
        return len(captured)

    def add(numbers: range) -> None:
        for number in numbers:
            one = rows.document(f"{number}.md")
            if number % 2:
                rows.version(one)

    add(range(12))
    queries()  # makes what is made once: the embedding space
    few = queries()
    add(range(12, 36))
    assert queries() == few <= QUERIES_OF_A_PLAN


STEPS = {"run_extraction": True, "build_chunks": True, "enricher_name": "statistics", "build_propositions": True}
REQUESTS = (
    STEPS,
    {**STEPS, "run_extraction": False},
    {**STEPS, "extract_mode": "reprocess"},
    {**STEPS, "extract_mode": "reprocess", "extractor_name": "text", "force": True},
    {"enricher_name": "statistics"},
)


@pytest.mark.parametrize("seed", range(3))
def test_few_documents_are_judged_as_many_are_and_both_as_staleness_says(seed, monkeypatch):
    rows.any_library(random.Random(seed))
    for fields in REQUESTS:
        request = ask(**fields)
        few = plan.make(request)
        monkeypatch.setattr(plan_sql, "FEW", -1)
        many = plan.make(request)
        monkeypatch.undo()
        assert [step.reasons for step in few.steps] == [step.reasons for step in many.steps]
        assert few.id == many.id
        for step in few.steps:
            assert step.count("missing", "stale", "current", "blocked") == 60
    for kind in ("chunks", "enrichment", "propositions"):
        fields = {"chunks": "build_chunks", "propositions": "build_propositions"}
        made = plan.make(ask(**({fields[kind]: True} if kind in fields else {"enricher_name": "statistics"})))
        derived: Counter[tuple[str, str]] = Counter()
        for state, each in straightforward.counts(rows.all_documents(), methods.wanted(kind)).items():
            for reason, count in each.items():
                # What cannot be made again is blocked in a plan, whatever there is of it.
                derived["blocked" if reason == staleness.SOURCE_CHANGED else state, reason] += count
        assert derived == reasons(made, kind)


ONE_BY_ONE = (
    *REQUESTS,
    {"run_extraction": True},
    {
        "run_extraction": True,
        "extract_mode": "reprocess",
        "extractor_name": "text",
        "extraction_policy": "save_variant",
    },
    {**STEPS, "synthesizer_name": "default", "build_embeddings": True},
)


@pytest.mark.parametrize("few", [-1, plan_sql.FEW])
@pytest.mark.parametrize("seed", range(3, 6))
def test_groups_of_documents_are_counted_as_each_of_them_is(seed, few, monkeypatch):
    """A plan judges documents that are alike at once; here each one's own row of the listing's statement is counted."""
    monkeypatch.setattr(plan_sql, "FEW", few)
    rows.any_library(random.Random(seed))
    for fields in ONE_BY_ONE:
        request = ask(**fields)
        made, steps = plan.make(request), request.steps()
        sql, parameters = plan.Basis.of(request).sql()
        reader = "extractor" if request.run_extraction else "NULL"
        columns = f"filename, size_bytes, primary_id, {reader}, eligible, blocked, hashtextextended(file_id, 0)"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {columns}, {', '.join(steps)} FROM ({sql}) each", parameters)
            found = cursor.fetchall()
        each, kinds, ids = [Counter() for _ in steps], Counter(), 0
        for name, _size, _primary, extractor, eligible, _blocked, number, *codes in found:
            for counted, code in zip(each, codes, strict=True):
                counted[plan_sql.MEANINGS[code]] += 1
            ids ^= number if eligible else 0
            if steps[0] == "extract" and codes[0] in plan_sql.codes("eligible"):
                kinds[name.rpartition(".")[2], extractor] += 1
        assert [step.reasons for step in made.steps] == each
        assert made.matched == len(found) == 60
        assert made.total_size == sum(row[1] for row in found)
        assert made.extracted == sum(row[2] is not None for row in found)
        assert made.eligible == sum(row[4] for row in found)
        assert made.blocked == sum(row[5] and not row[4] for row in found)
        assert made.fingerprint == ids
        assert {(one["extension"], one["extractor"]): one["count"] for one in made.extractor_plan} == kinds


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"scope": ALL}, ""),
        ({"run_extraction": True}, "scope"),
        ({"scope": {}, "run_extraction": True}, "scope"),
        ({"scope": {"all": False}, "run_extraction": True}, "scope"),
        ({"scope": {"colour": "red"}, "run_extraction": True}, "scope.colour"),
        ({"scope": {"file_ids": ["x"]}, "run_extraction": True}, "scope.file_ids[0]"),
        ({"scope": {"file_ids": "x"}, "run_extraction": True}, "scope.file_ids"),
        ({"scope": {"stale": ["bad mood"]}, "run_extraction": True}, "scope.stale[0]"),
        ({"scope": {"names": ["a\0b"]}, "run_extraction": True}, "scope.names[0]"),
        ({"scope": ALL, "run_extraction": "yes"}, "run_extraction"),
        ({"scope": ALL, "run_extraction": True, "extract_mode": "all"}, "extract_mode"),
        ({"scope": ALL, "run_extraction": True, "extraction_policy": "replace"}, "extraction_policy"),
        ({"scope": ALL, "run_extraction": True, "extractor_name": "nobody"}, "extractor_name"),
        ({"scope": ALL, "run_extraction": True, "workflow": "other"}, "workflow"),
        ({"scope": ALL, "run_extraction": True, "workflow": "intake"}, "queue_paths"),
        ({"scope": ALL, "synthesizer_name": "nobody"}, "synthesizer_name"),
        ({"scope": ALL, "enricher_name": "nobody"}, "enricher_name"),
        ({"scope": ALL, "speed": "fast"}, "speed"),
    ],
)
def test_wrong_requests_say_where(fields, where):
    with pytest.raises(BadRequest) as refused:
        Request.of(fields)
    assert refused.value.field == where


def test_a_scope_that_names_nothing_is_refused_when_it_is_planned():
    for scope, where in (({"collection": "none"}, "scope.collection"), ({"learner": "nobody"}, "scope.learner")):
        with pytest.raises(BadRequest) as refused:
            plan.make(Request.of({"scope": scope, "run_extraction": True}))
        assert refused.value.field == where


def test_save_variant_goes_without_downstream_work():
    with pytest.raises(Conflict, match="save_variant goes without downstream work"):
        ask(run_extraction=True, extraction_policy="save_variant", build_embeddings=True)


def test_a_request_is_kept_as_it_was_asked():
    fields = {
        "scope": {"types": ["text/*"], "failed": True}, "workflow": "library", "run_extraction": True,
        "extract_mode": "reprocess", "enricher_name": "statistics",
    }  # fmt: skip
    made = Request.of(fields)
    assert made.to_dict() == fields
    assert Request.of(made.to_dict()) == made
    assert replace(made, enricher_name=None).downstream() == ()
    assert Request.of({"scope": ALL, "build_embeddings": True}).steps() == ("chunks", "embeddings")


def test_listing_is_paged_in_the_order_of_adding():
    for number in range(7):
        rows.document(f"{number}.md")
    request = ask(run_extraction=True)
    first, total = plan.listing(request, "extract", "eligible", limit=3)
    rest, _ = plan.listing(request, "extract", "eligible", offset=3, limit=10)
    assert total == 7
    ids = [row["file_id"] for row in first + rest]
    assert len(set(ids)) == 7
    assert plan.listing(request, "extract", "eligible", offset=50) == ([], 7)
    with pytest.raises(BadRequest):
        plan.listing(request, "chunks", "eligible")
