"""Files that are broken, locked, empty or made to do harm: each is refused by name, or read within bounds."""

import io
import struct
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from extraction.documents import isolation, services
from extraction.documents.errors import ExtractionFailed
from extraction.documents.extractors import html, images, packages, registry
from extraction.documents.extractors.base import SourceFile
from extraction.models import Document, ExtractionVersion

from .direct import SAMPLES, extract, type_of

OFFICE = {"docx": "watering-plan.docx", "pptx": "limiting-factors.pptx", "xlsx": "meter-readings.xlsx"}
MAIN = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "xlsx": "xl/worksheets/sheet1.xml"}
PACKAGES = {**OFFICE, "epub": "circle-of-fifths.epub"}


def refused(name: str, path: Path, folder: Path, **options: object) -> str:
    with pytest.raises(ExtractionFailed) as failed:
        extract(name, path, folder, **options)
    assert str(failed.value) and str(path.parent) not in str(failed.value)
    return failed.value.reason


def changed(source: Path, target: Path, **members: bytes) -> Path:
    """A copy of a package with some members replaced or added; ``members`` by name with / as __."""
    new = {name.replace("__", "/"): data for name, data in members.items()}
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for info in old.infolist():
            copy.writestr(info.filename, new.pop(info.filename, None) or old.read(info))
        for name, data in new.items():
            copy.writestr(name, data)
    return target


def pdf(*objects: str) -> bytes:
    """A PDF of numbered objects, the first its catalog; ``trailer`` entries as a last one that begins with /."""
    extra = objects[-1] if objects[-1].startswith("/") else ""
    written = io.BytesIO(b"%PDF-1.4\n")
    written.seek(0, 2)
    places = []
    bodies = objects[:-1] if extra else objects
    for number, body in enumerate(bodies, start=1):
        places.append(written.tell())
        written.write(f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1"))
    begin = written.tell()
    written.write(f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode())
    written.writelines(f"{place:010d} 00000 n \n".encode() for place in places)
    written.write(f"trailer\n<< /Size {len(places) + 1} /Root 1 0 R {extra} >>\nstartxref\n{begin}\n%%EOF\n".encode())
    return written.getvalue()


CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"
PAGES = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >>"
# A password that nobody knows: the check value is made up.
LOCK = f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'a1' * 32}> /U <{'5c' * 32}> >>"
LOCKED = pdf(
    CATALOG,
    PAGES,
    PAGE,
    LOCK,
    "/Encrypt 4 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]",
)


@pytest.mark.parametrize("extractor", ["pdf", "pdf-tables", "rapidocr"])
def test_an_encrypted_pdf(extractor, tmp_path) -> None:
    path = tmp_path / "locked.pdf"
    path.write_bytes(LOCKED)
    assert refused(extractor, path, tmp_path) == "encrypted"


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("name", ["inspecting-a-heat-pump.pdf", *PACKAGES.values(), "soil-samples.png"])
def test_a_truncated_file(name, share, tmp_path) -> None:
    """A cut package is told as such. A cut PDF and image may be mended by their libraries, and then give text or nothing."""
    data = (SAMPLES / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(data[: int(len(data) * share)])
    extractor = {"pdf": "pdf", "png": "rapidocr"}.get(path.suffix[1:], path.suffix[1:])
    if name in PACKAGES.values():
        assert refused(extractor, path, tmp_path) == "damaged"
    else:
        assert refused(extractor, path, tmp_path) in {"damaged", "no_text"}


def test_a_pdf_with_blank_pages_alone(tmp_path) -> None:
    path = tmp_path / "blank.pdf"
    path.write_bytes(pdf(CATALOG, PAGES, PAGE))
    assert refused("pdf", path, tmp_path) == "no_text"


def test_a_pdf_whose_letters_have_no_meaning(tmp_path) -> None:
    """A font without a character map gives private characters: the text is refused, not kept."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Odd /Encoding << /Differences [65 /g1 /g2 /g3] >> /ToUnicode 6 0 R >>"
    cmap = ("/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
            "1 beginbfrange <41> <5A> <E000> endbfrange endcmap end")  # fmt: skip
    shown = "BT /F1 12 Tf 20 200 Td (ABCABCABC ABCABCABC ABCABC) Tj ET"
    path = tmp_path / "odd.pdf"
    path.write_bytes(pdf(
        CATALOG, PAGES, PAGE.replace(" >>", " /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>"), font,
        f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream", f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream",
    ))  # fmt: skip
    assert refused("pdf", path, tmp_path) == "gibberish"


def test_glyph_marks_are_gibberish(tmp_path) -> None:
    path = tmp_path / "glyphs.html"
    path.write_text("<p>" + "GLYPH&lt;c=3,font=/AAAAAA+Sans&gt; " * 30 + "word</p>")
    assert refused("html", path, tmp_path) == "gibberish"


def test_many_pages_take_a_moment_each(tmp_path) -> None:
    shown = "BT /F1 12 Tf 20 200 Td (Every page says the same.) Tj ET"
    count = 3_000
    kids = " ".join(f"{number} 0 R" for number in range(5, 5 + count))
    page = PAGE.replace(" >>", " /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>")
    path = tmp_path / "long.pdf"
    path.write_bytes(pdf(
        CATALOG, f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream", *[page] * count,
    ))  # fmt: skip
    found = extract("pdf", path, tmp_path)
    assert found.provenance["counts"]["units_completed"] == count
    assert found.rows[-1]["source_origin"]["page"] == count
    assert refused("rapidocr", path, tmp_path) == "too_large"


@pytest.mark.parametrize("name", PACKAGES)
def test_a_bomb_is_not_unpacked(name, tmp_path, monkeypatch) -> None:
    """30 MB of zeros behind a few bytes; nothing of it is read."""
    bomb = changed(SAMPLES / PACKAGES[name], tmp_path / f"bomb.{name}", word__media__x=b"\0" * 30_000_000)
    assert bomb.stat().st_size < 200_000
    assert refused(name, bomb, tmp_path) == "expands_too_much"
    monkeypatch.setattr(packages, "MAX_RATIO", 10_000)
    monkeypatch.setattr(packages, "MAX_EXPANDED", 20_000_000)
    assert refused(name, bomb, tmp_path) == "expands_too_much"


def test_a_package_that_lies_about_its_sizes(tmp_path) -> None:
    """The entry says 10 bytes; the part has 30 million. No more than 10 are unpacked, and the check sum tells."""
    path = changed(SAMPLES / OFFICE["docx"], tmp_path / "lies.docx", word__extra=b"x")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/more.xml", b"<a>" + b" " * 30_000_000)
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rfind(mark)
        struct.pack_into("<I", data, at + offset, 10)
    path.write_bytes(data)
    assert refused("docx", path, tmp_path) == "damaged"


def test_too_many_parts(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(packages, "MAX_MEMBERS", 5)
    assert refused("docx", SAMPLES / OFFICE["docx"], tmp_path) == "expands_too_much"


BILLION = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><x>&i;</x>"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", OFFICE)
def test_entities_that_multiply_are_not_read(name, encoding, tmp_path) -> None:
    bomb = BILLION.replace("?>", f' encoding="{encoding}"?>', 1).encode(encoding)
    path = changed(SAMPLES / OFFICE[name], tmp_path / f"bomb.{name}", **{MAIN[name].replace("/", "__"): bomb})
    assert refused(name, path, tmp_path) == "xml_entities"


def test_entities_behind_a_long_comment_do_not_multiply(tmp_path) -> None:
    """Beyond what is looked at, the libraries themselves do not expand entities."""
    late = BILLION.replace("<!DOCTYPE", f"<!--{'-x' * packages.HEAD_BYTES}--><!DOCTYPE").encode()
    for name, sample in OFFICE.items():
        path = changed(SAMPLES / sample, tmp_path / f"late.{name}", **{MAIN[name].replace("/", "__"): late})
        assert refused(name, path, tmp_path) in {"damaged", "no_text"}


def test_a_file_outside_is_not_read_by_an_entity(tmp_path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    page = f'<?xml version="1.0"?><!DOCTYPE html [\n<!ENTITY x SYSTEM "{secret.as_uri()}">]><html><body><p>A &x; B</p></body></html>'
    path = changed(SAMPLES / PACKAGES["epub"], tmp_path / "x.epub", **{"OEBPS__c1.xhtml": page.encode()})
    assert refused("epub", path, tmp_path) == "xml_entities"
    (tmp_path / "x.html").write_text(page)
    assert "the secret" not in extract("html", tmp_path / "x.html", tmp_path).text


def ole(stream: str) -> bytes:
    return packages.OLE + bytes(504) + stream.encode("utf-16-le") + bytes(400)


@pytest.mark.parametrize("name", OFFICE)
def test_office_files_with_a_password_and_older_ones(name, tmp_path) -> None:
    path = tmp_path / f"locked.{name}"
    path.write_bytes(ole("EncryptedPackage"))
    assert type_of(path) == type_of(SAMPLES / OFFICE[name])
    assert refused(name, path, tmp_path) == "encrypted"
    path.write_bytes(ole("WordDocument"))
    assert refused(name, path, tmp_path) == "older_office"
    (tmp_path / "old.doc").write_bytes(ole("WordDocument"))
    assert type_of(tmp_path / "old.doc") == "application/x-ole-storage"


def test_a_package_whose_parts_have_a_password(tmp_path) -> None:
    path = tmp_path / "locked.docx"
    data = bytearray((SAMPLES / OFFICE["docx"]).read_bytes())
    at = -1
    while (at := data.find(b"PK\x01\x02", at + 1)) >= 0:
        data[at + 8] |= 1
    path.write_bytes(data)
    assert refused("docx", path, tmp_path) == "encrypted"


def test_a_protected_book(tmp_path) -> None:
    rule = ('<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#">'
            '<EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>')  # fmt: skip
    for algorithm, locked in (
        ("http://www.w3.org/2001/04/xmlenc#aes128-cbc", True),
        ("http://www.idpf.org/2008/embedding", False),
    ):
        path = changed(
            SAMPLES / PACKAGES["epub"],
            tmp_path / f"{locked}.epub",
            **{"META-INF__encryption.xml": rule.format(algorithm).encode()},
        )
        if locked:
            assert refused("epub", path, tmp_path) == "encrypted"
        else:
            assert "perfect fifth" in extract("epub", path, tmp_path).text


def test_empty_sheets_slides_and_documents(tmp_path) -> None:
    import docx
    import openpyxl
    import pptx

    for name, empty in (("xlsx", openpyxl.Workbook()), ("docx", docx.Document()), ("pptx", pptx.Presentation())):
        path = tmp_path / f"empty.{name}"
        empty.save(path)
        assert refused(name, path, tmp_path) == "no_text"


def test_a_sheet_that_claims_a_million_rows(tmp_path) -> None:
    sheet = (b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:XFD1048576"/><sheetData>'
             b'<row r="1"><c r="A1"><v>7</v></c><c r="B1"><v>8</v></c></row><row r="1048576"><c r="XFD1048576"><v>9</v></c></row>'
             b"</sheetData></worksheet>")  # fmt: skip
    path = changed(SAMPLES / OFFICE["xlsx"], tmp_path / "wide.xlsx", **{"xl__worksheets__sheet1.xml": sheet})
    assert "7 | 8 |\n |  | 9" in extract("xlsx", path, tmp_path).text


def test_what_a_file_is_not(tmp_path) -> None:
    """Wrong extensions: text named as a package is text; bytes named so are nothing; an archive lacks what makes it one."""
    (tmp_path / "a.docx").write_text("Just words.\n")
    (tmp_path / "b.pdf").write_text("<!DOCTYPE html><html><body>Not found</body></html>")
    (tmp_path / "c.xlsx").write_bytes(bytes(range(256)) * 4)
    with zipfile.ZipFile(tmp_path / "d.docx", "w") as archive:
        archive.writestr("readme.txt", "x")
    found = [type_of(path) for path in sorted(tmp_path.iterdir())]
    assert found == ["text/plain", "text/html", "application/octet-stream", "application/zip"]


def test_a_file_that_is_two_is_what_it_begins_as(tmp_path) -> None:
    package, page = (SAMPLES / OFFICE["docx"]).read_bytes(), (SAMPLES / "inspecting-a-heat-pump.pdf").read_bytes()
    (tmp_path / "both.docx").write_bytes(page + package)
    assert type_of(tmp_path / "both.docx") == "application/pdf"
    (tmp_path / "other.pdf").write_bytes(package + page)
    assert type_of(tmp_path / "other.pdf") != "application/pdf"


def test_a_named_extractor_given_another_kind_of_file(tmp_path) -> None:
    path = tmp_path / "plain.bin"
    path.write_text("Just words, no structure.\n")
    expected = {"pdf": "damaged", "pdf-tables": "damaged", "docx": "damaged", "pptx": "damaged", "xlsx": "damaged",
                "epub": "damaged", "rapidocr": "damaged", "eml": "wrong_format"}  # fmt: skip
    assert {
        name: refused(name, path, tmp_path, media_type="application/pdf" if "pdf" in name else "") for name in expected
    } == expected
    for name in ("docx", "xlsx"):
        assert refused(name, SAMPLES / OFFICE["pptx"], tmp_path) == "damaged"


def test_a_large_image_is_refused_before_it_is_unpacked(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(images, "MAX_PIXELS", 10_000)
    path = tmp_path / "large.png"
    Image.new("1", (200, 100)).save(path)
    assert refused("rapidocr", path, tmp_path) == "too_large"


def test_a_large_page_is_drawn_smaller(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(images, "MAX_PIXELS", 10_000)
    path = tmp_path / "large.pdf"
    path.write_bytes(pdf(CATALOG, PAGES, PAGE.replace("300 300", "14400 14400")))
    (picture,) = images.pictures(SourceFile(path, path.name, "application/pdf"), every=True)
    assert picture.image.width * picture.image.height <= 11_000


def test_a_long_page_is_kept_whole_without_looking_for_its_main_part(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(html, "MAX_MAIN_CHARS", 1_000)
    path = tmp_path / "long.html"
    path.write_text("<nav>Menu</nav><main><p>" + "word " * 400 + "</p></main>")
    found = extract("html", path, tmp_path)
    assert found.provenance["source"]["content"] == "all" and "Menu" in found.text


@pytest.mark.slow
def test_a_page_of_50_mb_is_read_within_the_limits(tmp_path) -> None:
    path = tmp_path / "huge.html"
    path.write_text("<html><body>" + f"<p>{'A line of a very long page. ' * 100}</p>\n" * 18_000)
    assert path.stat().st_size > 50_000_000
    (tmp_path / "work").mkdir()
    extractor = registry.extractors()["html"]
    found = isolation.run(
        extractor,
        extractor.resolve(None),
        path,
        "text/html",
        bundle=tmp_path / "store" / "bundle",
        work=tmp_path / "work",
    )
    assert found.manifest_records == 18_000


@pytest.mark.slow
@pytest.mark.django_db
def test_a_scanned_pdf_falls_through_to_recognition(store) -> None:
    """The text extractor says no_text_layer and stays as a failed version; the recognised text becomes primary."""
    file_id = services.add_file(SAMPLES / "soil-samples-scanned.pdf").file_id
    version = services.extract(file_id)
    assert version.status == "succeeded" and version.extractor in {"tesseract", "rapidocr"}
    (failed,) = ExtractionVersion.objects.filter(status="failed")
    assert (failed.extractor, failed.error.partition(":")[0]) == ("pdf", "no_text_layer")
    assert Document.objects.get().primary == version
    # The engine that pip brings works under the limits whether the system's is there or not.
    assert services.extract(file_id, "rapidocr", "save_variant").error == ""


@pytest.mark.django_db
def test_a_locked_pdf_ends_the_chain_and_has_no_primary(store, write) -> None:
    version = services.extract(services.add_file(write("locked.pdf", LOCKED)).file_id)
    assert version.error.startswith("encrypted: ")
    assert ExtractionVersion.objects.count() == 1
    assert Document.objects.get().primary is None
