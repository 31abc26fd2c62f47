"""Each way an extractor can go wrong: a failed version with a named reason, and nothing else touched."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from extraction.documents import isolation, selectors, services, validation, versions
from extraction.documents.errors import ExtractionFailed
from extraction.documents.extractors.text import TextExtractor
from extraction.models import ExtractionVersion, Promotion

from .conftest import tree

pytestmark = pytest.mark.django_db

FAILURES = {
    "encrypted": ("encrypted", "asks for a password"),
    "raises": ("extractor_error", "ValueError: page 3 has no"),
    "segfaults": ("crashed", "SIGSEGV"),
    "hangs": ("timeout", "longer than 0.5 s"),
    "stops": ("timeout", "longer than 0.5 s"),
    "spins": ("timeout", "1 s of processor time"),
    "hungry": ("out_of_memory", ""),
    "swells": ("out_of_memory", "96 MiB"),
    "floods": ("output_too_large", ""),
    "scatters": ("too_many_files", "20 files"),
    "links": ("bad_bundle", "artifacts/passwd"),
    "lies": ("bad_bundle", "differ"),
    "overruns": ("bad_manifest", "does not lie in the text"),
    "gibberish": ("gibberish", ""),
    "multiplies": ("too_many_processes", "24 processes"),
    "unpacks": ("output_too_large", "8 MiB"),
    "expands": ("out_of_memory", ""),
    "blank": ("no_text", ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_a_row_with_its_reason_and_nothing_else(name, store, extracted):
    good = extracted()
    before = tree(store.root)
    version = services.extract(good.document_id, name)
    reason, message = FAILURES[name]
    assert version.status == "failed"
    assert version.error.startswith(f"{reason}: ")
    assert message in version.error
    assert tree(store.root) == before
    assert list(store.scratch.iterdir()) == []
    good.document.refresh_from_db()
    assert good.document.primary == good
    assert Promotion.objects.count() == 1
    assert selectors.primary_text(good.document_id) == "One line.\n\nAnother.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk without room")
def test_a_disk_without_room_for_the_outcome_is_a_full_disk(tmp_path, write):
    work = tmp_path / "work"
    work.mkdir()
    (work / "result.json").symlink_to("/dev/full")
    source = write("a.txt", "One line.")
    with pytest.raises(ExtractionFailed) as failure:
        isolation.run(
            TextExtractor(), {"encoding": "auto"}, source, "text/plain", bundle=tmp_path / "bundle", work=work
        )
    assert failure.value.reason == "disk_full"


def test_a_failure_does_not_stop_the_next_try(store, add, bad_extractors, monkeypatch):
    file_id = add("a.txt", "text")

    def refuse(*_arguments):
        raise ExtractionFailed("no_text", "not now")

    with monkeypatch.context() as patch:
        patch.setattr(validation, "validate", refuse)
        assert services.extract(file_id).error == "no_text: not now"
    assert services.extract(file_id).status == "succeeded"
    assert list(ExtractionVersion.objects.order_by("created_at").values_list("status", flat=True)) == [
        "failed",
        "succeeded",
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (" \n\t \r\n\u2003", "no_text"),
        ("\ufeff\n", "no_text"),
        (b"\x00\x01\x02\x03binary", "binary"),
        (bytes(range(1, 32)) * 40, "gibberish"),
        (b"\x81\x8d\x90\x01\x02" * 50, "gibberish"),
        (b"\xff\xfeabc", "encoding"),
    ],
)
def test_files_that_are_no_text(store, extracted, content, reason):
    version = extracted("notes.txt", content)
    assert version.status == "failed"
    assert version.error.startswith(f"{reason}: ")


def test_no_secret_of_ours_reaches_an_extractor(store, extracted, monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "OSII_LLM_API_KEY", "REDIS_URL", "PGPASSWORD"):
        monkeypatch.setenv(name, "hush-hush")
    version = services.extract(extracted().document_id, "environment")
    text = selectors.version_text(version.document_id, version.pk)
    assert "PYTHONPATH=" in text
    assert "hush-hush" not in text


def test_a_child_that_is_killed(store, extracted, monkeypatch):
    good = extracted()
    make_bundle = versions.isolation._check

    def kill(process, *arguments):
        process.kill()
        make_bundle(process, *arguments)

    monkeypatch.setattr(versions.isolation, "_check", kill)
    version = services.extract(good.document_id, "hangs")
    assert version.error.startswith("killed: ")
    good.document.refresh_from_db()
    assert good.document.primary == good


def test_no_process_of_an_extractor_outlives_it(store, extracted):
    assert services.extract(extracted().document_id, "escapes").error == "left: and left a process"
    left = [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == ["sleep", "61.25"]]
    assert left == []


def uncontained(environment: Callable[[Path], dict[str, str]]) -> Callable[[Path], dict[str, str]]:
    """The environment of a child whose first import takes the namespaces away."""
    code = "from extraction.documents import containment; containment._unshare = lambda flags: False"

    def make(home: Path) -> dict[str, str]:
        (home / "sitecustomize.py").write_text(code)
        found = environment(home)
        return found | {"PYTHONPATH": f"{home}:{found['PYTHONPATH']}"}

    return make


@pytest.mark.parametrize("cut_off", [True, False])
def test_an_extractor_reaches_no_network(store, extracted, monkeypatch, cut_off):
    """Beside a negative control: the same without namespaces does reach it."""
    if cut_off and not isolation.probe().network:
        pytest.skip("this kernel lets nobody make a network namespace")
    if not cut_off:
        monkeypatch.setattr(isolation, "_environment", uncontained(isolation._environment))
    with socket.create_server(("127.0.0.1", 0)) as server:
        version = services.extract(extracted().document_id, "calls", options={"port": server.getsockname()[1]})
    text = selectors.version_text(version.document_id, version.pk)
    assert text.startswith("no: ") if cut_off else text == "connected"


@pytest.mark.parametrize("name", ["multiplies", "escapes", "hangs", "segfaults"])
def test_where_the_kernel_allows_no_namespaces_the_rest_holds(name, store, extracted, monkeypatch):
    monkeypatch.setattr(isolation, "_environment", uncontained(isolation._environment))
    good = extracted()
    assert services.extract(good.document_id, name).status == "failed"
    assert [
        process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == ["sleep", "61.25"]
    ] == []
    assert selectors.primary_text(good.document_id) == "One line.\n\nAnother.\n"


def test_a_child_dies_with_its_parent(tmp_path):
    """Whoever kills a worker must not leave its extractor running."""
    source = tmp_path / "a.txt"
    source.write_text("text")
    work = tmp_path / "work"
    work.mkdir()
    code = (
        "import sys; sys.path[:0] = {path!r}\n"
        "from pathlib import Path\n"
        "from extraction.documents import isolation\n"
        "from extraction.documents.limits import Limits\n"
        "from tests.extraction.documents.extractors import Hangs\n"
        "isolation.run(Hangs(), {{}}, Path({source!r}), 'text/plain', bundle=Path({work!r}, 'bundle'), work=Path({work!r}),"
        " limits=Limits(wall_seconds=60))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code.format(path=sys.path, source=str(source), work=str(work))])
    try:
        deadline = time.monotonic() + 20
        while not (work / "home" / "hanging").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        (child,) = psutil.Process(parent.pid).children()
    finally:
        parent.kill()
        parent.wait()
    child.wait(timeout=10)
    assert not child.is_running()


AUTOGROUP = Path("/proc/self/autogroup")


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel does not weigh sessions")
def test_a_child_of_a_worker_that_gives_way_gives_way_though_it_is_a_session_of_its_own():
    code = "import os; from extraction.documents.child import _keep_giving_way as keep; os.nice({}); keep(); print(open('{}').read())"
    for by, kept in ((0, 0), (7, 7)):
        told = subprocess.run(
            [sys.executable, "-c", code.format(by, AUTOGROUP)],
            check=True, capture_output=True, text=True, start_new_session=True,
        ).stdout  # fmt: skip
        assert told.split()[-1] == str(kept)
