"""Files that are not what they say: two types in one, bombs, names that lead elsewhere; and what is given out of them."""

import ast
import csv
import gzip
import io
import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from coverage.cells import FORMULA, safe_row
from coverage.importers import streams
from extraction.documents.errors import ExtractorRefused
from extraction.documents.media import media_type
from extraction.models import Document
from osii.api.objects import SAFE_HEADERS
from osii.imports import jobs, uploads
from osii.intake import staging
from osii.models import ChatImport
from osii.web.documents.source import IMAGES, PDF
from tests import factories
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.extraction.documents.direct import extract
from tests.osii import rows
from tests.osii.api import staff_caller

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

pytestmark = pytest.mark.django_db

SCRIPT = b"<script>alert(1)</script>"


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture
def root(rq_connection: Any, settings: Any, tmp_path: Path) -> Client:
    settings.OSII_HOME = tmp_path / "home"
    settings.OSII_HOME.mkdir()
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


# --- Two types in one, and endings that lie ---

POLYGLOTS = {
    "page in front of a PDF.pdf": b"<html>" + SCRIPT + b"\n%PDF-1.7\n1 0 obj\n<<>>\nendobj\n",
    "PDF with a page in it.html": b"%PDF-1.7\n<html>" + SCRIPT,
    "GIF that is a script.js": b"GIF89a/*\x00\x00*/=1;alert(1)//",
    "GIF that is a page.html": b"GIF89a" + SCRIPT,
    "PNG with a page in it.png": b"\x89PNG\r\n\x1a\n" + SCRIPT,
    "JPEG named as a page.htm": b"\xff\xd8\xff\xe1" + SCRIPT,
    "ZIP and PDF.pdf": b"%PDF-1.7\n" + zipped(a=SCRIPT),
    "PDF in a ZIP.zip": zipped(a=b"%PDF-1.7\n" + SCRIPT),
    "ZIP named as a picture.png": zipped(a=SCRIPT),
    "page named as a picture.png": b"<!DOCTYPE html>" + SCRIPT,
    "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">' + SCRIPT + b"</svg>",
    "drawing named as a picture.gif": b'<?xml version="1.0"?><svg onload="alert(1)"/>',
    "XHTML.xml": b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">' + SCRIPT + b"</html>",
    "program.txt": b"\x7fELF" + SCRIPT,
    "script.mjs": b"alert(1)",
    "exe.\u202egpj.html": SCRIPT,
}


@pytest.mark.parametrize("name", POLYGLOTS)
def test_what_a_browser_is_given_runs_nothing(name: str, rq_connection: Any, add: Any) -> None:
    """Pictures and PDF, by their bytes, are looked at; all else is a download; and neither may do anything."""
    file_id = add(name, POLYGLOTS[name])
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    page = client.get(reverse("document-source", args=[file_id]))
    policy = page["Content-Security-Policy"]
    kind = page["Content-Type"]
    assert kind in IMAGES | {PDF, "application/octet-stream"}
    begins = {"image/gif": b"GIF8", "image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF"}
    if kind in IMAGES:
        assert POLYGLOTS[name].startswith(begins[kind])
    shown = kind != "application/octet-stream"
    assert page["Content-Disposition"].startswith("inline" if shown else "attachment")
    assert page["X-Content-Type-Options"] == "nosniff"
    assert page["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in policy and "script-src" not in policy and "form-action 'none'" in policy
    assert ("sandbox" in policy) == (kind != PDF)
    caller = staff_caller()
    sent = caller.client.get(f"/api/objects/{file_id}/source", headers=caller.headers)
    assert sent["Content-Disposition"].startswith("attachment")
    assert {header: sent[header] for header in SAFE_HEADERS} == dict(SAFE_HEADERS)
    for answer in (page, sent):
        assert "\u202e" not in unquote(answer["Content-Disposition"])


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.gif", "a.webp", "a.bmp", "a.tiff", "a.pdf", "a.docx"])
def test_an_ending_alone_makes_nothing_of_a_file(name: str) -> None:
    for content in (SCRIPT, b"<svg onload=x>", b"alert(1)", b"\0\1\2"):
        assert media_type(name, content, content) in {"text/plain", "text/html", "application/octet-stream"}, content


# --- Names ---

NAMES = ("../../evil.md", "/etc/evil.md", "..\\..\\evil.md", "C:\\Windows\\evil.md", "evil.md\u202egpj.exe", "CON", "a:evil.md", "..", "",
         "~/evil.md", "$(evil).md", "; evil.md", "evil\n.md", "x" * 400 + ".md", "évil ☃ 光.md", "-rf", ".hidden")  # fmt: skip


@pytest.mark.parametrize("route", ["intake-upload", "import-create"])
def test_no_name_of_an_upload_leads_anywhere(root: Client, route: str, tmp_path: Path) -> None:
    sent = {"complete": "yes", "submission": "0190a000-0000-7000-8000-000000000009", "chunks": "on"}
    files = [SimpleUploadedFile("x", b"Some text.") for _ in NAMES]
    for file, name in zip(files, NAMES, strict=True):
        file._name = name  # Django's own cleaning of a name is not what is relied on
    response = root.post(reverse(route), sent | {"files": files})
    assert response.status_code == 302, response.text[:500]
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert made
    assert all(path.resolve().is_relative_to(uploads.root().resolve()) for path in made)
    assert all(path.name.isprintable() and len(path.name.encode()) <= 255 for path in made)
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in made if path.name != staging.INDEX)
    if route == "import-create":
        assert all(file["name"].isprintable() and "/" not in file["name"] for file in ChatImport.objects.get().files)
    assert "\u202e" not in root.get(response["Location"]).text


# --- Bombs and archives that lead elsewhere ---


def bombs() -> dict[str, bytes]:
    zeros = b" " * 3_000_000
    inner = zipped(**{"a.json": zeros})
    linked = io.BytesIO()
    with zipfile.ZipFile(linked, "w") as archive:
        link = zipfile.ZipInfo("passwd.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return {
        "flat.zip": zipped(**{"a.json": b"[" + zeros}),
        "nested.zip": zipped(**{f"{number}.zip": inner for number in range(20)}),
        "flat.json.gz": gzip.compress(b"[" + zeros),
        "nested.gz": gzip.compress(gzip.compress(zeros)),
        "of archives.zip": zipped(**{"a.json.gz": gzip.compress(zeros)}),
        "deep.json": b"[" * 100_000,
        "linked.zip": linked.getvalue(),
    }


def test_no_archive_of_chats_unpacks_beyond_its_bounds(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "RATIO_COUNTS_FROM", 1_000_000)
    read = 0
    opened = streams._Inflating.readinto

    def counted(self: Any, buffer: Any) -> int:
        nonlocal read
        read += (got := opened(self, buffer))
        return got

    monkeypatch.setattr(streams._Inflating, "readinto", counted)
    for number, (name, content) in enumerate(bombs().items()):
        read = 0
        sent = {
            "files": SimpleUploadedFile(name, content),
            "complete": "yes",
            "submission": f"0190a000-0000-7000-8000-{number:012}",
        }
        assert root.post(reverse("import-create"), sent).status_code == 302
        row = ChatImport.objects.get(submission=sent["submission"])
        jobs.run_import(str(row.pk))
        row.refresh_from_db()
        told = json.dumps([row.problems, row.skipped, row.error])
        assert row.counts.get("new", 0) == 0, name
        assert len(told) > 20, name
        assert "root:" not in told
        assert read < 2_500_000, name


def test_an_archive_is_no_document_that_is_unpacked(rq_connection: Any, extracted: Any) -> None:
    for name in ("nested.zip", "flat.json.gz"):
        with pytest.raises(ExtractorRefused, match="no extractor reads application/"):
            extracted(name, bombs()[name])


# --- What is given out ---


def formulas() -> list[str]:
    return [f"{sign}cmd|' /C calc'!A0" for sign in FORMULA]


def test_no_table_that_is_exported_runs_a_formula(root: Client, tmp_path: Path) -> None:
    learner = factories.chat(factories.message("=m", "=1+1"), title="=t", learner="=Ada").learner
    for number, text in enumerate(formulas()):
        claim = rows.proposition(f"{text} {number}", learner)
        rows.instance(claim, learner.chats.get(), quote=text)
        rows.document(f"{text.replace('/', '')}{number}.md", number, learner=learner)
    target = tmp_path / "out.zip"
    call_command("export_learner", learner.name, str(target), stdout=io.StringIO())
    cells = 0
    with zipfile.ZipFile(target) as archive:
        tables = [name for name in archive.namelist() if name.endswith(".csv") and "/" not in name]
        assert len(tables) >= 5
        for name in tables:
            for row in csv.reader(io.StringIO(archive.read(name).decode("utf-8-sig"))):
                cells += len(row)
                assert not [cell for cell in row if cell.lstrip(" ").startswith(FORMULA)], name
    assert cells > 200


def test_no_table_of_a_document_runs_a_formula_and_its_numbers_stay(tmp_path: Path) -> None:
    lines = [["-5.2", "+3", "-1,200 %", "=HYPERLINK(1)"], ["@SUM(A1)", "a", "-", "+cmd|x"]]
    table = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in lines)
    (tmp_path / "a.html").write_text(
        f"<h1>Words of a page</h1><p>Some text of it.</p><table><tr><th>a<th>b<th>c<th>d</tr>{table}</table>"
    )
    found = extract("html", tmp_path / "a.html", tmp_path)
    assert list(csv.reader(io.StringIO(found.artifact("tables/table-0001.csv"))))[1:] == [
        ["-5.2", "+3", "-1,200 %", "'=HYPERLINK(1)"], ["'@SUM(A1)", "a", "'-", "'+cmd|x"],
    ]  # fmt: skip
    assert json.loads(found.artifact("tables/table-0001.json"))["rows"][1:] == lines


def test_every_table_that_is_written_has_safe_cells() -> None:
    """Whoever writes CSV takes its cells from coverage.cells; nobody writes another kind of table."""
    careless = []
    for path in sources():
        text = path.read_text()
        if not re.search(r"csv|xlsx|Workbook", text):
            continue
        tree = ast.parse(text)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        writes = calls & {"csv.writer", "csv.DictWriter", "openpyxl.Workbook", "Workbook"}
        if writes and not names & {"safe_cell", "safe_row"}:
            careless.append(path.name)
    assert careless == ["make_documents.py"]  # samples that are committed


def sources() -> list[Path]:
    folders = [settings.BASE_DIR / name for name in ("coverage", "graphctx", "extraction", "osii")]
    return [path for folder in folders for path in folder.rglob("*.py")]


def test_names_in_an_export_lead_nowhere(root: Client, extracted: Any, tmp_path: Path) -> None:
    names = ["..\\..\\C:evil|?\u202edm.md"]
    for number, name in enumerate(names):
        document = extracted(name, f"Some text number {number}.").document
        Document.objects.filter(pk=document.pk).update(learner=factories.chat(learner="Ada").learner)
    target = tmp_path / "out.zip"
    call_command("export_learner", "Ada", str(target), stdout=io.StringIO())
    with zipfile.ZipFile(target) as archive:
        inside = [name for name in archive.namelist() if name.startswith("documents/")]
    assert len(inside) == 2 * len(names)
    for name in inside:
        assert name.isprintable() and not set(name) & set('\\:*?"<>|'), name
        assert not any(part in {"", ".", ".."} for part in name.split("/")), name


def test_numbers_and_texts_of_a_row() -> None:
    assert safe_row(["-1", "1e5", "+1+cmd", None, 5, "-1-2"]) == ["-1", "1e5", "'+1+cmd", None, 5, "'-1-2"]
