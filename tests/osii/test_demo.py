"""The demo reports what went wrong instead of passing it over."""

from pathlib import Path

import pytest

from osii import demo

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_broken_sample_file_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "broken.json").write_text('[{"id": "a", "messages": [')
    monkeypatch.setattr(demo, "SAMPLES", tmp_path)
    imported = demo._import_chats()
    assert imported["chats"] == 0
    assert [problem["source"].endswith("broken.json") for problem in imported["problems"]] == [True]
