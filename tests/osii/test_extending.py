"""The packages of docs/add-an-extractor.md and docs/add-a-worker.md: the very files of the pages, installed and used."""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from extraction import installed, workers
from extraction.documents import services
from extraction.documents.extractors import registry
from extraction.documents.store import library_store
from extraction.models import Batch, ExtractionVersion
from graphctx.models import Instance, Proposition
from osii import env
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)

CARDS = "BEGIN:VCARD\r\nFN:Ada\r\nTEL;TYPE=home:030 123\r\nNOTE:grows \r\n tomatoes\r\nEND:VCARD\r\nBEGIN:VCARD\r\nEND:VCARD\r\n"


def clear() -> None:
    for found in (registry.extractors, installed.worker_paths, workers._installed):
        found.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Puts the files of a page into a folder, with the entry points as an installer would leave them."""

    def make(page: str) -> Path:
        text = Path(project.BASE_DIR, "docs", page).read_text(encoding="utf-8")
        files = dict(re.findall(r"<!-- recipe: (\S+) -->\n```\w+\n(.*?)```\n", text, re.DOTALL))
        about = tomllib.loads(files["pyproject.toml"])
        assert {f"{name}.py" for name in about["tool"]["setuptools"]["py-modules"]} == files.keys() - {"pyproject.toml"}
        for name, content in files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        name, version = about["project"]["name"], about["project"]["version"]
        noted = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        noted.mkdir()
        (noted / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [
            line
            for group, points in about["project"]["entry-points"].items()
            for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
        ]
        (noted / "entry_points.txt").write_text("\n".join(lines))
        return tmp_path

    # Other tests of this process may have registered workers of their own.
    monkeypatch.setattr(workers, "_REGISTRY", {name: workers._REGISTRY[name] for name in ("llm", "rules")})
    monkeypatch.syspath_prepend(tmp_path)
    yield make
    clear()


def text_of(version: ExtractionVersion) -> str:
    return library_store().version_dir(version.document_id, version.pk).joinpath("text.txt").read_text()


def test_an_extractor(install: Callable[[str], Path], settings: Any) -> None:
    folder = install("add-an-extractor.md")
    settings.OSII_HOME = folder / "home"
    clear()
    library_store()
    (folder / "people.vcf").write_bytes(CARDS.encode())
    (folder / "none.vcf").write_bytes(b"nothing")
    added = services.add_file(folder / "people.vcf")
    version = services.extract(added.file_id)
    assert (version.extractor, version.status, version.error) == ("vcard", "succeeded", "")
    assert text_of(version) == "# Ada\nTelephone: 030 123\nNote: grows tomatoes\n\n# Card 2\n\n"
    assert "Note" not in text_of(services.extract(added.file_id, "vcard", options={"notes": False}))
    failed = services.extract(services.add_file(folder / "none.vcf").file_id)
    assert (failed.status, failed.error.partition(":")[0]) == ("failed", "no_cards")


def test_a_worker(install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    install("add-a-worker.md")
    clear()
    assert workers.worker_names() == ("llm", "remember", "rules")
    long = "Nothing of note. " * 1200
    factories.chat(
        message("m0", "Remember: my tank holds 300 litres. And now?", "user"),
        message("m1", "Remember: water boils at 100 degrees.", "assistant"),
        message("m2", f"{long} Remember: the pump is 2 metres deep.", "user"),
    )
    call_command("extract_chats", "--all", "--rest", "--worker", "remember", "--json")
    batches = Batch.objects.values_list("status", "worker", "worker_version", "prompt_version")
    assert set(batches) == {("succeeded", "remember", "remember-1", "remember-1")}
    assert set(Proposition.objects.values_list("text", flat=True)) == {
        "my tank holds 300 litres.",
        "the pump is 2 metres deep.",
    }
    assert set(Instance.objects.values_list("live", flat=True)) == {True}


def test_a_broken_worker_takes_nothing_with_it(
    install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = install("add-a-worker.md")
    (folder / "broken_worker.py").write_text("raise ValueError('it does not work here')\n")
    paths = {
        "broken": "broken_worker:X",
        "rules": "osii_remember:RememberWorker",
        "other": "osii_remember:RememberWorker",
        "remember": "osii_remember:RememberWorker",
    }
    monkeypatch.setattr(workers, "worker_paths", lambda: paths)
    clear()
    assert workers.worker_names() == ("llm", "remember", "rules")
    assert len(caplog.messages) == 3
    with pytest.raises(ValueError, match="there is no extract worker 'broken'; known: llm, remember, rules"):
        workers.get_worker("broken")


def test_it_may_be_the_one_that_reads_by_itself(
    install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("add-a-worker.md")
    clear()
    monkeypatch.setenv("EXTRACTION_WORKER", "remember")
    assert env.choice("EXTRACTION_WORKER", ("rules", "llm"), "rules", more=installed.worker_paths) == "remember"
    monkeypatch.setenv("EXTRACTION_WORKER", "recall")
    with pytest.raises(ImproperlyConfigured, match="must be one of: rules, llm, remember"):
        env.choice("EXTRACTION_WORKER", ("rules", "llm"), "rules", more=installed.worker_paths)
