"""The library over HTTP: plans, runs, documents, versions; who may do what, and every wrong request by its status."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.services import get_or_create_learner
from extraction.documents import services
from extraction.models import Document
from graphctx.models import Proposition
from osii.library import items, jobs, outputs
from osii.models import ProcessingRun
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii.api import Caller, learner_caller, staff_caller
from tests.osii.library import rows

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

pytestmark = pytest.mark.django_db

TEXT = "Light reactions split water, and the oxygen of the air comes from that water. The Calvin cycle fixes carbon."
ALL = {"all": True}
STATISTICS = {"scope": ALL, "enricher_name": "statistics"}


@pytest.fixture
def staff() -> Caller:
    return staff_caller()


@pytest.fixture
def document(extracted) -> Document:
    return extracted("notes.md", TEXT).document


def work(run_id: str) -> None:
    for item in ProcessingRun.objects.get(pk=run_id).items.filter(status="queued"):
        jobs.execute(item.pk)


def test_resolve_counts_and_writes_nothing(staff, document):
    rows.document("without.md")
    status, body = staff.post("/resolve", STATISTICS)
    assert status == 200
    preview = body["preview"]
    assert (preview["matched_count"], preview["total_size"]) == (2, document.size_bytes + 1000)
    assert [row["filename"] for row in preview["sample"]] == ["notes.md"]
    planned = preview["processing_plan"]
    assert {name: planned[name] for name in planned if name != "steps"} == {
        "matched_count": 2, "unique_document_count": 2, "extracted_count": 1, "missing_extraction_count": 1,
        "eligible_count": 1, "current_count": 0, "blocked_count": 1,
    }  # fmt: skip
    (step,) = planned["steps"]
    assert (step["id"], step["label"], step["method"]) == ("enrichment", "Enrichment", "statistics")
    assert [step[f"{name}_count"] for name in ("eligible", "stale", "current", "blocked")] == [1, 0, 0, 1]
    assert step["reasons"] == [{"state": "blocked", "reason": "no text", "count": 1}]
    assert not ProcessingRun.objects.exists()


def test_the_first_read_registers_what_only_the_store_knows(staff, store, document, client, django_user_model):
    """By a page as by the API; a learner meets only what is theirs, and a stranger's is not looked for on disk."""
    for number, name in enumerate("abc"):
        folder = store.object_dir("sha256-" + name * 64)
        folder.mkdir()
        (folder / "text.txt").write_text(f"An old text, {number}.\n")
        (folder / "meta.toml").write_text('[file]\nfilename = "old.pdf"\n[learner]\nname = "Ada"\n')
    status, body = staff.get(f"/objects/sha256-{'a' * 64}/extractions")
    assert (status, body["variants"][0]["id"]) == (200, body["primary_id"])
    assert body["primary_id"].startswith("legacy-unknown-")
    assert learner_caller("Bob").get(f"/objects/sha256-{'b' * 64}").status == 404
    assert learner_caller("Ada").get(f"/objects/sha256-{'b' * 64}").status == 200
    client.force_login(django_user_model.objects.create_superuser("staff"))
    assert b"An old text, 2." in client.get(f"/documents/sha256-{'c' * 64}/").content
    assert client.get(f"/documents/sha256-{'d' * 64}/").status_code == 404


def test_resolve_names_the_extractors(staff):
    rows.document("a.md")
    rows.document("b.txt", mime="text/plain")
    _, body = staff.post("/resolve", {"scope": ALL, "run_extraction": True})
    found = {(line["extension"], line["extractor"], line["count"]) for line in body["preview"]["extractor_plan"]}
    assert found == {("md", "text", 1), ("txt", "text", 1)}


def test_the_documents_behind_a_count(staff, document):
    rows.document("without.md")
    status, body = staff.post("/resolve/documents", STATISTICS | {"step": "enrichment", "state": "blocked"})
    assert (status, body["total"]) == (200, 1)
    assert (body["items"][0]["filename"], body["items"][0]["reason"]) == ("without.md", "no text")
    _, body = staff.post("/resolve/documents", STATISTICS | {"state": "eligible"})
    assert body["items"][0]["states"] == {"enrichment": {"state": "missing", "reason": ""}}
    assert staff.post("/resolve/documents", STATISTICS | {"step": "chunks"}).status == 422


def test_a_run_from_start_to_end(staff, document):
    status, made = staff.post("/runs", STATISTICS)
    assert (status, made["status"], made["resolved_count"], made["workflow"]) == (201, "queued", 1, "library")
    assert made["preview"]["plan_id"]
    assert made["request"] == STATISTICS | {"workflow": "library"}
    assert made["actor"].startswith("api:osii_")
    work(made["id"])
    _, done = staff.get(f"/runs/{made['id']}")
    assert (done["status"], done["progress"]["succeeded"]) == ("succeeded", 1)
    assert done["step_counts"] == {"enrichment": {"succeeded": 1}}
    _, listed = staff.get(f"/runs/{made['id']}/items?status=succeeded")
    (item,) = listed["items"]
    assert (item["file_id"], item["filename"], listed["total"]) == (document.pk, "notes.md", 1)
    assert item["steps"][0]["output_id"]
    assert staff.post("/runs", STATISTICS).status == 409


def test_a_repeated_call_is_one_run_and_a_changed_library_is_told(staff, extracted, document):
    submission = str(uuid4())
    first = staff.post("/runs", STATISTICS | {"submission": submission})
    again = staff.post("/runs", STATISTICS | {"submission": submission})
    assert (first.status, again.status, first.body["id"]) == (201, 200, again.body["id"])
    other = staff.post("/runs", {"scope": ALL, "synthesizer_name": "default", "submission": submission})
    assert other.status == 409
    seen = staff.post("/resolve", STATISTICS).body["preview"]["plan_id"]
    extracted("b.md", f"{TEXT} More.")
    status, body = staff.post("/runs", STATISTICS | {"plan_id": seen})
    assert (status, "changed since" in body["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"scope": ALL}, 422, "no operation"),
        ({"enricher_name": "statistics"}, 422, "scope"),
        ({"scope": {}, "enricher_name": "statistics"}, 422, "scope"),
        ({"scope": ALL, "workflow": "other", "run_extraction": True}, 422, "workflow"),
        ({"scope": ALL, "extract_mode": "all", "run_extraction": True}, 422, "extract_mode"),
        ({"scope": ALL, "extraction_policy": "replace", "run_extraction": True}, 422, "extraction_policy"),
        ({"scope": ALL, "extractor_name": "nobody", "run_extraction": True}, 422, "extractor_name"),
        ({"scope": ALL, "synthesizer_name": "nobody"}, 422, "synthesizer_name"),
        ({"scope": {"collection": "none"}, "enricher_name": "statistics"}, 422, "scope.collection"),
        ({"scope": {"file_ids": ["x"]}, "enricher_name": "statistics"}, 422, "scope.file_ids[0]"),
        ({"scope": ALL, "run_extraction": 1}, 422, "run_extraction"),
        ({"scope": ALL, "colour": "red"}, 422, "colour"),
        ({"workflow": "intake", "queue_paths": ["/etc/passwd"], "run_extraction": True}, 422, "queue_paths[0]"),
        (
            {"scope": ALL, "run_extraction": True, "extraction_policy": "save_variant", "build_embeddings": True},
            409, "save_variant",
        ),
        ({"scope": ALL, "enricher_name": "statistics"}, 409, "nothing is eligible"),
    ],
)  # fmt: skip
def test_wrong_requests(staff, fields, status, told):
    answer = staff.post("/runs", fields)
    assert answer.status == status
    assert told.lower() in answer.body["detail"].lower()
    assert not ProcessingRun.objects.exists()


def test_pause_resume_cancel_retry_and_their_conflicts(staff, document):
    run_id = staff.post("/runs", STATISTICS).body["id"]
    act = lambda verb: staff.post(f"/runs/{run_id}/{verb}")  # noqa: E731
    assert act("resume").status == 409
    assert act("retry").status == 409
    assert (act("pause").status, act("pause").status) == (200, 409)
    assert act("resume").body["status"] == "queued"
    item = ProcessingRun.objects.get(pk=run_id).items.get()
    items.Holding(items.claim(item.pk)).end("failed", "enrichment: as asked")
    status, body = act("retry")
    assert (status, body["retried"], body["progress"]["queued"]) == (200, 1, 1)
    assert (act("cancel").body["status"], act("cancel").status, act("pause").status) == ("cancelled", 409, 409)
    for verb in ("pause", "resume", "cancel", "retry"):
        assert staff.post(f"/runs/{uuid4()}/{verb}").status == 404


def test_runs_are_paged_with_a_fixed_number_of_queries(staff, document):
    made = [rows.run(document).pk for _ in range(5)]
    seen, cursor = [], ""
    while cursor is not None:
        _, body = staff.get("/runs?limit=2" + (f"&cursor={cursor}" if cursor else ""))
        seen += [run["id"] for run in body["items"]]
        cursor = body["next_cursor"]
    assert seen == [str(pk) for pk in reversed(made)]
    assert staff.get("/runs?status=active&limit=1").body["next_cursor"]
    assert staff.get("/runs?status=failed").body == {"items": [], "next_cursor": None}
    assert staff.get("/runs?cursor=nonsense").status == 422
    with CaptureQueriesContext(connection) as two:
        staff.get("/runs?limit=2")
    with CaptureQueriesContext(connection) as five:
        staff.get("/runs?limit=5")
    assert len(two) == len(five)


def test_documents_are_listed_filtered_and_paged(staff, document):
    made = [rows.document(f"{n}.txt", mime="text/plain", path=f"/x/{n}.txt") for n in range(3)]
    get = lambda query: [row["filename"] for row in staff.get(f"/objects?{query}").body["items"]]  # noqa: E731
    assert len(get("")) == 4
    assert get("q=NOTES") == get("extracted=true") == get("type=text/m*") == ["notes.md"]
    assert set(get("folder=/x")) == {"0.txt", "1.txt", "2.txt"}
    _, page = staff.get("/objects?limit=3")
    _, rest = staff.get(f"/objects?limit=3&cursor={page['next_cursor']}")
    ids = [row["file_id"] for row in page["items"] + rest["items"]]
    assert sorted(ids) == sorted([document.pk, *(one.pk for one in made)])
    assert rest["next_cursor"] is None
    shown = next(row for row in page["items"] + rest["items"] if row["file_id"] == document.pk)
    assert (shown["primary_id"], shown["extractor"], shown["text_chars"]) == (document.primary_id, "text", len(TEXT))
    assert staff.get("/objects?collection=none").status == 422
    assert staff.get("/objects?learner=nobody").status == 404


def test_one_document_its_text_manifest_and_outputs(staff, document, bad_extractors):
    outputs.make(document.pk, "synthesis", "extractive")
    outputs.make(document.pk, "enrichment", "statistics")
    path = f"/objects/{document.pk}"
    _, body = staff.get(path)
    assert body["meta"]["file"]["filename"] == "notes.md"
    assert body["meta"]["hash"]["sha256"] == document.pk.removeprefix("sha256-")
    assert body["processing"]["steps"]["enrichment"] == {"method": "statistics", "state": "current", "reason": ""}
    assert body["processing"]["steps"]["chunks"]["state"] == "missing"
    assert [(one["method"], one["state"]) for one in body["enrichments"]] == [("statistics", "current")]
    _, text = staff.get(f"{path}/texts?offset=6&limit=9")
    assert (text["text"], text["char_start"], text["char_end"], text["total_chars"]) == ("reactions", 6, 15, len(TEXT))
    assert staff.get(f"{path}/texts?offset=999999").body["text"] == ""
    assert staff.get(f"{path}/texts?extraction_id=none").status == 404
    _, manifest = staff.get(f"{path}/manifest?limit=1")
    assert manifest["rows"][0]["span"]["char_start"] == 0
    _, syntheses = staff.get(f"{path}/syntheses")
    assert syntheses["syntheses"][0]["state"] == "current"
    assert staff.get(f"/objects/{rows.document('x.md').pk}/texts").status == 404
    assert staff.get("/objects/sha256-00").status == 404


def test_the_source_is_sent_to_be_saved_and_never_run(staff, add):
    file_id = add("<script>.html", "<script>alert(1)</script>")
    sent = staff.client.get(f"/api/objects/{file_id}/source", headers=staff.headers)
    assert b"".join(sent.streaming_content) == b"<script>alert(1)</script>"
    assert sent["Content-Disposition"].startswith("attachment")
    assert sent["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in sent["Content-Security-Policy"]


def test_upgrade_promote_and_roll_back(staff, document, bad_extractors):
    outputs.make(document.pk, "enrichment", "statistics")
    path, before = f"/objects/{document.pk}/extractions", document.primary_id
    assert staff.post(path, {"extractor_name": "text"}).status == 409
    assert staff.post(path, {"extractor_name": "nobody"}).status == 422
    status, run = staff.post(path, {"extractor_name": "upper", "extraction_policy": "save_variant"})
    assert status == 202
    work(run["id"])
    _, listed = staff.get(path)
    assert listed["primary_id"] == before
    variant = next(one["id"] for one in listed["variants"] if not one["primary"])
    promote = lambda extraction_id, **body: staff.post(f"{path}/{extraction_id}/primary", body)  # noqa: E731
    assert promote("upper-20260101000000-00000000").status == 404
    conflict = promote(variant, expected_primary_id=variant)
    assert (conflict.status, before in conflict.body["detail"]) == (409, True)
    _, done = promote(variant, expected_primary_id=before, reason="better")
    assert (done["primary_id"], done["before_id"], done["changed"], done["stale_outputs"]) == (variant, before, True, 1)
    _, shown = staff.get(f"/objects/{document.pk}")
    assert (shown["enrichments"][0]["state"], shown["enrichments"][0]["reason"]) == ("stale", "extraction changed")
    assert promote(before).body["changed"]
    assert staff.get(f"/objects/{document.pk}").body["enrichments"][0]["state"] == "current"
    assert document.promotions.filter(actor__startswith="api:osii_").count() == 2


def test_old_versions_are_shown_then_removed_as_shown(staff, document, bad_extractors):
    former, path = document.primary_id, f"/objects/{document.pk}/retention"
    upper = services.extract(document.pk, "upper").pk
    spare = services.extract(document.pk, "text", "save_variant", force=True).pk
    _, shown = staff.get(path)
    assert shown["primary_id"] == upper
    assert [(one["extraction_id"], one["kept"]) for one in shown["versions"]] == [
        (former, "is what taking the last promotion back would return to"), (spare, None),
    ]  # fmt: skip
    assert shown["removable_bytes"] == shown["versions"][1]["size_bytes"] > 0
    assert staff.get(f"{path}?older_than=1").body["versions"] == []
    assert staff.get(f"{path}?even_needed=1&keep=1").body["versions"][0]["kept"] is None
    assert staff.post(path, {"extraction_ids": [upper]}).status == 409
    assert staff.post(path, {"extraction_ids": [former, spare]}).status == 409
    assert staff.post(path, {"extraction_ids": []}).status == 422
    status, gone = staff.post(path, {"extraction_ids": [spare], "reason": "tidy"})
    assert (status, gone["what"], gone["versions"], gone["reason"]) == (200, "versions", [spare], "tidy")
    assert gone["actor"].startswith("api:osii_")
    assert staff.post(path, {"extraction_ids": [spare]}).status == 409
    assert document.versions.count() == 2


def test_a_document_is_removed_whole(staff, document):
    Document.objects.filter(pk=document.pk).update(learner=get_or_create_learner("Ada"))
    outputs.make(document.pk, "chunks")
    outputs.make(document.pk, "propositions")
    claims = Proposition.objects.count()
    path = f"/objects/{document.pk}"
    _, shown = staff.get(f"{path}/removal")
    assert shown["counts"] == {
        "sources": 1, "versions": 1, "promotions": 1, "outputs": 2, "chunks": 1, "instances": claims, "propositions": claims,
    }  # fmt: skip
    assert shown["propositions"]["removed"] == claims > 0
    assert shown["size_bytes"] > document.size_bytes
    assert Document.objects.exists()
    status, gone = staff.delete(f"{path}?reason=asked+to")
    assert (status, gone["what"], gone["reason"]) == (200, "document", "asked to")
    assert {name: gone["counts"][name] for name in shown["counts"]} == shown["counts"]
    assert not (Document.objects.exists() or Proposition.objects.exists())
    assert staff.delete(path).status == staff.get(f"{path}/removal").status == 404


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\0{[", b"[" * 200_000 + b"\n", b'{"source_origin": 1, "span": {}}\n'])
def test_a_damaged_version_is_told_and_breaks_no_page(staff, document, store, client, django_user_model, data):
    for name in ("text.txt", "manifest.jsonl"):
        path = store.version_dir(document.pk, document.primary_id) / name
        path.chmod(0o600)
        path.write_bytes(data)
    sound = data.startswith(b'{"')
    version = document.primary_id
    assert staff.get(f"/objects/{document.pk}/manifest").status == (200 if sound else 503)
    assert staff.get(f"/objects/{document.pk}/texts").status == (503 if data.startswith(b"\xff") else 200)
    assert staff.post(f"/objects/{document.pk}/extractions/{version}/primary").status == 409
    client.force_login(django_user_model.objects.create_superuser("root"))
    for query in (
        "tab=text",
        "page=2",
        "at=3&to=9",
        f"tab=extractions&a={version}&b={version}",
        "tab=outputs",
        "tab=lineage",
    ):
        assert client.get(f"/documents/{document.pk}/?{query}").status_code == 200


def test_artifacts(staff, document, store):
    folder = store.version_dir(document.pk, document.primary_id) / "artifacts"
    folder.chmod(0o755)
    (folder / "table.csv").write_text("a,b\n")
    path = f"/objects/{document.pk}/extractions/{document.primary_id}/artifacts"
    assert staff.get(path).body["artifacts"] == [{"name": "table.csv", "size_bytes": 4, "mime": "text/csv"}]
    sent = staff.client.get(f"/api{path}/table.csv", headers=staff.headers)
    assert b"".join(sent.streaming_content) == b"a,b\n"
    assert staff.get(f"{path}/../text.txt").status == 404
    assert staff.get(f"{path}/%2e%2e/text.txt").status == 404
    assert staff.get(f"{path}/none.csv").status == 404
    assert staff.get(f"{path}/{'a' * 300}").status == 404
    assert staff.get(f"/objects/{document.pk}/extractions/none/artifacts").status == 404


def test_a_learner_sees_own_documents_only_and_runs_nothing(document):
    ada = learner_caller("Ada")
    own = rows.document("own.md", learner=get_or_create_learner("Ada"))
    rows.document("other.md", learner=get_or_create_learner("Bob"))
    assert [row["filename"] for row in ada.get("/objects").body["items"]] == ["own.md"]
    assert ada.get(f"/objects/{own.pk}").status == 200
    for path in (
        "",
        "/texts",
        "/manifest",
        "/syntheses",
        "/source",
        "/extractions",
        f"/extractions/{document.primary_id}/artifacts",
    ):
        assert ada.get(f"/objects/{document.pk}{path}").status == 404, path
    assert ada.get("/objects?learner=Bob").status == 403
    for path, body in (
        ("/resolve", STATISTICS), ("/resolve/documents", STATISTICS), ("/runs", STATISTICS),
        (f"/objects/{own.pk}/extractions", {}), (f"/objects/{own.pk}/extractions/x/primary", {}),
        (f"/runs/{uuid4()}/cancel", None),
    ):  # fmt: skip
        assert ada.post(path, body).status == 403, path
    for path in ("/runs", f"/runs/{uuid4()}", f"/runs/{uuid4()}/items"):
        assert ada.get(path).status == 403, path
    assert not ProcessingRun.objects.exists()
    for method, path in (("GET", "/objects"), ("POST", "/runs"), ("POST", "/resolve"), ("GET", "/runs")):
        assert Caller().send(method, path).status == 401
