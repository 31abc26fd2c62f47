"""The table of rules: first match wins, what fails falls through, and what the admin refuses."""

import importlib
from importlib.metadata import EntryPoint

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse

from extraction.documents import routing, services
from extraction.documents.errors import ExtractorRefused
from extraction.documents.extractors import registry
from extraction.models import Document, ExtractionVersion, ExtractorRule

pytestmark = pytest.mark.django_db

TEXT = "The kettle boils.\n"


def rules(*rows: tuple[str, str, str]) -> None:
    """Replace the table: (media type, name pattern, extractor) in order."""
    ExtractorRule.objects.all().delete()
    for order, (media_type, name_pattern, extractor) in enumerate(rows):
        ExtractorRule.objects.create(order=order, media_type=media_type, name_pattern=name_pattern, extractor=extractor)


def names(media_type: str, filename: str = "") -> list[str]:
    return [route.extractor.name for route in routing.chain("auto", media_type, filename)]


def test_every_default_row_names_an_extractor_that_declares_its_type() -> None:
    """Read from the migrations: tests that empty every table may have run before."""
    known = registry.extractors()
    added = [
        importlib.import_module(f"extraction.migrations.{one}").ROWS
        for one in ("0015_extractor_rules", "0024_svg_rule")
    ]
    begun_with = [row for rows in added for row in rows]
    assert {name for _, name, _ in begun_with} == {kind.name for kind in registry.BUILTIN}
    for media_type, name, _ in begun_with:
        assert media_type in known[name].media_types, (media_type, name)


def test_packages_add_extractors_and_a_broken_one_takes_nothing_with_it(monkeypatch, tmp_path, add, caplog) -> None:
    (tmp_path / "broken_package.py").write_text("raise ValueError('it does not work here')\n")
    monkeypatch.syspath_prepend(tmp_path)
    good = "tests.extraction.documents.extractors:Upper"
    points = [
        EntryPoint(name, value, registry.GROUP)
        for name, value in (
            ("broken", "broken_package:X"),
            ("none", "builtins:dict"),
            ("text", good),
            ("gone", "no.such:X"),
        )
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
    registry.extractors.cache_clear()
    try:
        assert list(registry.extractors())[-1] == "upper"
        assert len(registry.extractors()) == len(registry.BUILTIN) + 1
        assert len([one for one in caplog.messages if "cannot be loaded" in one or "is not taken" in one]) == 3
        assert services.extract(add("a.txt", TEXT), "upper").status == "succeeded"
    finally:
        registry.extractors.cache_clear()


def test_the_first_row_that_fits_is_the_first_route(bad_extractors) -> None:
    rules(("text/plain", "*.log", "upper"), ("text/*", "*", "text"), ("text/plain", "*", "blank"))
    assert names("text/plain", "SERVER.LOG") == ["upper", "text", "blank"]
    assert names("text/plain", "a.txt") == ["text", "blank"]
    assert names("text/csv") == ["text"]


def test_disabled_and_unready_and_unknown_rows_are_passed_over(bad_extractors) -> None:
    rules(("*", "*", "unready"), ("*", "*", "gone"), ("*", "*", "upper"), ("*", "*", "text"))
    ExtractorRule.objects.filter(extractor="upper").update(enabled=False)
    assert names("text/plain") == ["text"]


def test_a_type_without_a_row_goes_to_who_declares_it(bad_extractors) -> None:
    rules()
    assert names("text/plain") == ["text", "upper"]
    with pytest.raises(ExtractorRefused, match="no extractor reads") as refused:
        names("video/mp4")
    assert refused.value.reason == "no_extractor"


def test_a_drawing_has_no_pixels_whatever_pattern_of_images_it_fits() -> None:
    rules(("image/*", "*", "tesseract"), ("image/*", "*", "rapidocr"))
    assert names("image/svg+xml", "plan.svg") == ["svg"]
    assert "svg" not in names("image/png")


def test_what_is_missing_is_said(bad_extractors) -> None:
    rules(("image/*", "*", "unready"))
    with pytest.raises(ExtractorRefused, match="unready: the program “ocr” is not installed") as refused:
        names("image/png")
    assert refused.value.reason == "extractor_not_ready"


def test_each_failed_attempt_is_kept_and_the_next_one_tried(add, bad_extractors) -> None:
    rules(("text/plain", "*", "blank"), ("text/plain", "*", "raises"), ("text/plain", "*", "text"))
    version = services.extract(add("a.txt", TEXT))
    assert (version.extractor, version.status) == ("text", "succeeded")
    failed = ExtractionVersion.objects.filter(status="failed").order_by("created_at")
    assert [(row.extractor, row.error.partition(":")[0]) for row in failed] == [
        ("blank", "no_text"), ("raises", "extractor_error"),
    ]  # fmt: skip
    assert Document.objects.get().primary == version


def test_what_failed_before_is_not_run_again_when_a_later_one_succeeded(add, bad_extractors) -> None:
    rules(("text/plain", "*", "blank"), ("text/plain", "*", "text"))
    file_id = add("a.txt", TEXT)
    version = services.extract(file_id)
    assert services.extract(file_id) == version
    assert ExtractionVersion.objects.count() == 2
    assert services.extract(file_id, force=True) != version
    assert ExtractionVersion.objects.count() == 4


def test_the_last_failure_is_returned_and_a_final_one_ends_the_chain(add, bad_extractors) -> None:
    rules(("text/plain", "*", "encrypted"), ("text/plain", "*", "text"))
    file_id = add("a.txt", TEXT)
    assert services.extract(file_id).error.startswith("encrypted: ")
    assert [row.extractor for row in ExtractionVersion.objects.all()] == ["encrypted"]
    rules(("text/plain", "*", "blank"), ("text/plain", "*", "raises"))
    assert services.extract(file_id).error.startswith("extractor_error: ")
    assert Document.objects.get().primary is None


def test_options_of_a_row_are_used_and_given_ones_go_to_the_first_row_alone(add, bad_extractors) -> None:
    rules(("text/plain", "*", "upper"), ("text/plain", "*", "text"))
    ExtractorRule.objects.filter(extractor="upper").update(options={"suffix": "!"})
    file_id = add("a.txt", TEXT)
    assert services.extract(file_id).options == {"suffix": "!", "copies": 1}
    assert services.extract(file_id, options={"copies": 2}).options == {"suffix": "!", "copies": 2}
    with pytest.raises(ExtractorRefused, match="has no option 'encoding'"):
        services.extract(file_id, options={"encoding": "utf-8"})


def test_one_query_whatever_the_table(django_assert_num_queries) -> None:
    with django_assert_num_queries(1):
        table = routing.Table.load()
        for _ in range(3):
            routing.chain("auto", "text/plain", table=table)


@pytest.mark.parametrize(
    ("field", "value"),
    [("extractor", "nobody"), ("options", ["a"]), ("options", {"sufix": "!"}), ("options", {"copies": 9}),
     ("media_type", "Text/Plain"), ("name_pattern", "*.LOG"), ("media_type", "")],
)  # fmt: skip
def test_a_row_that_cannot_work_is_refused(bad_extractors, field, value) -> None:
    rule = ExtractorRule(order=1, media_type="text/plain", extractor="upper")
    rule.full_clean()
    setattr(rule, field, value)
    with pytest.raises(ValidationError) as refused:
        rule.full_clean()
    assert field in refused.value.message_dict


def test_the_database_refuses_a_row_without_patterns_or_twice() -> None:
    rules(("text/plain", "*", "text"))
    for row in ({"media_type": ""}, {"name_pattern": ""}, {"extractor": ""}, {}):
        values = {"order": 2, "media_type": "text/plain", "extractor": "text"} | row
        with pytest.raises(IntegrityError), transaction.atomic():
            ExtractorRule.objects.create(**values)


def test_the_admin_shows_readiness_and_refuses_wrong_options(client, bad_extractors) -> None:
    client.force_login(User.objects.create_superuser("root"))
    rules(("image/*", "*", "unready"), ("text/plain", "*", "text"), ("text/plain", "*", "gone"))
    page = client.get(reverse("admin:extraction_extractorrule_changelist")).text
    assert "passed over: the program “ocr” is not installed" in page
    assert "not installed: the row is passed over" in page
    form = {"order": "1", "media_type": "text/plain", "name_pattern": "*", "extractor": "upper",
            "options": '{"copies": 9}', "enabled": "on"}  # fmt: skip
    answer = client.post(reverse("admin:extraction_extractorrule_add"), form)
    assert "copies is 9, but must be 1, 2, 3" in answer.text.replace("&#x27;", "'")
    assert client.post(reverse("admin:extraction_extractorrule_add"), form | {"options": "{}"}).status_code == 302
    assert ExtractorRule.objects.filter(extractor="upper").exists()


def test_a_chat_export_is_no_document(add) -> None:
    chats = '[{"role": "user", "content": "What is osmosis?"}, {"role": "assistant", "content": "Water moving."}]'
    with pytest.raises(ExtractorRefused, match=r"manage\.py import_chats") as refused:
        services.extract(add("conversation.txt", chats), "text")
    assert refused.value.reason == "chat_export"
    assert not ExtractionVersion.objects.exists()
