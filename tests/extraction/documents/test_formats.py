"""What each extractor keeps of the sample documents, and of files that are made to be difficult."""

import json
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from extraction.documents import invariants, selectors, services
from extraction.documents.errors import ExtractionFailed
from extraction.documents.extractors import charsets, registry
from extraction.documents.extractors.flow import table
from extraction.documents.extractors.htmltext import parse, pieces

from .direct import SAMPLES, extract, type_of

OFFICE = "application/vnd.openxmlformats-officedocument."
TYPES = {
    "inspecting-a-heat-pump.pdf": "application/pdf",
    "watering-plan.docx": f"{OFFICE}wordprocessingml.document",
    "limiting-factors.pptx": f"{OFFICE}presentationml.presentation",
    "meter-readings.xlsx": f"{OFFICE}spreadsheetml.sheet",
    "bicycle-workshop.eml": "message/rfc822",
    "sourdough.html": "text/html",
    "circle-of-fifths.epub": "application/epub+zip",
    "soil-samples.png": "image/png",
    "soil-samples-scanned.pdf": "application/pdf",
}


@pytest.mark.parametrize("name", TYPES)
def test_the_type_is_known_by_content_whatever_the_name_says(name: str, tmp_path: Path) -> None:
    assert type_of(SAMPLES / name) == TYPES[name]
    for other in ("renamed", "renamed.txt", "renamed.zip"):
        (tmp_path / other).write_bytes((SAMPLES / name).read_bytes())
        assert type_of(tmp_path / other) == TYPES[name], other


def test_every_sample_is_covered() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == set(TYPES)


@pytest.mark.parametrize(
    ("name", "extractor", "said"),
    [
        ("inspecting-a-heat-pump.pdf", "pdf", "every defrosting takes heat from the house"),
        ("inspecting-a-heat-pump.pdf", "pdf-tables", "-7 °C | 42 °C | 3.1"),
        ("watering-plan.docx", "docx", "Never wet the leaves of tomatoes."),
        ("limiting-factors.pptx", "pptx", "Notes: Ask which factor limits a plant"),
        ("meter-readings.xlsx", "xlsx", "2025-11-01 | 530 | 139.5"),
        ("bicycle-workshop.eml", "eml", "- invoice.csv (text/csv, 28 bytes)"),
        ("sourdough.html", "html", "Warm starters, at about 28 °C"),
        ("circle-of-fifths.epub", "epub", "is called the Pythagorean comma"),
    ],
)
def test_each_sample_gives_text_with_spans_boxes_and_tools(name, extractor, said, tmp_path) -> None:
    found = extract(extractor, SAMPLES / name, tmp_path)
    assert said in found.text
    assert found.provenance["tools"].keys() > {"python"}
    assert found.provenance["counts"]["units_attempted"] == found.provenance["counts"]["units_completed"] > 0
    covered: set[int] = set()
    for row in found.rows:
        box = row["source_origin"]["bbox"]
        assert box is None or (len(box) == 4 and all(0 <= side <= 1 for side in box) and box[0] < box[2])
        if row["kind"] == "text":
            covered.update(range(row["span"]["char_start"], row["span"]["char_end"]))
    assert all(character.isspace() for at, character in enumerate(found.text) if at not in covered)


def test_pdf_has_a_segment_for_each_page_and_places_on_them(tmp_path) -> None:
    found = extract("pdf", SAMPLES / "inspecting-a-heat-pump.pdf", tmp_path)
    first, second = found.of("page")
    assert first.startswith("Inspecting a heat pump in autumn\n\nBefore the heating")
    assert second.startswith("What to write down")
    (title,) = [row for row in found.rows if found.said(row) == "Inspecting a heat pump in autumn"]
    left, top, right, bottom = title["source_origin"]["bbox"]
    assert 0.1 < left < 0.14 and 0.04 < top < bottom < 0.1 and 0.5 < right < 0.8


def test_tables_of_a_pdf_are_kept_as_csv_and_json(tmp_path) -> None:
    found = extract("pdf-tables", SAMPLES / "inspecting-a-heat-pump.pdf", tmp_path)
    assert found.artifact("tables/table-0001.csv").splitlines()[1] == "10 °C,30 °C,5.1"
    kept = json.loads(found.artifact("tables/table-0001.json"))
    assert (kept["columns"], len(kept["rows"])) == (3, 4)
    (segment,) = [row for row in found.rows if row["kind"] == "text" and row["type"] == "table"]
    rows = [row for row in found.rows if row["kind"] == "table"]
    assert [row["type"] for row in rows] == ["csv", "json"]
    for row in rows:
        assert row["span"] == segment["span"] and row["related_ids"] == [segment["id"]]
    assert found.text.count("Flow temperature") == 1


def test_word_keeps_headings_lists_tables_and_pages(tmp_path) -> None:
    found = extract("docx", SAMPLES / "watering-plan.docx", tmp_path)
    assert found.of("heading") == ["Watering plan for the greenhouse", "Rules of thumb", "Amounts", "When it is hot"]
    assert len(found.of("list_item")) == 3 and len(found.of("page")) == 2
    assert found.text.startswith("Community greenhouse, north side\n\nWatering plan")
    assert "but daily.[note 1]\n\n[note 1] Measured with tensiometers in the north bed" in found.text
    assert found.of("footer") == []  # it numbers the pages and says nothing else
    headings = {row["id"]: found.said(row) for row in found.rows if row["type"] == "heading"}
    (row,) = [row for row in found.rows if row["kind"] == "text" and row["type"] == "table"]
    assert [headings[identity] for identity in row["related_ids"]] == ["Amounts"]
    assert found.artifact("tables/table-0001.csv").splitlines()[0] == "Plant,Litres a day,Best time"


def test_word_shows_inserted_text_and_hides_deleted_and_repeated(tmp_path) -> None:
    import docx
    from docx.oxml import parse_xml

    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = docx.Document()
    document.element.body.insert(0, parse_xml(
        f'<w:p {space}><w:r><w:t xml:space="preserve">Water </w:t></w:r><w:ins w:id="1" w:author="a"><w:r><w:t>twice'
        '</w:t></w:r></w:ins><w:del w:id="2" w:author="a"><w:r><w:delText>once</w:delText></w:r></w:del></w:p>'
    ))  # fmt: skip
    document.element.body.insert(1, parse_xml(
        f"<w:sdt {space}><w:sdtContent><w:p><w:r><w:t>In a form field</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    ))  # fmt: skip
    merged = document.add_table(1, 3)
    merged.cell(0, 0).merge(merged.cell(0, 1)).text = "merged"
    merged.cell(0, 2).text = "alone"
    path = tmp_path / "a.docx"
    document.save(path)
    assert extract("docx", path, tmp_path).text == "Water twice\n\nIn a form field\n\nmerged | alone"


def noted(path: Path) -> Path:
    """A Word document with notes of every kind, a header, and a footer with the number of the page."""
    import docx
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part
    from docx.oxml import parse_xml

    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = docx.Document()
    first = document.add_paragraph("Water at dawn")
    for kind in ("footnote", "endnote", "footnote"):
        number = 2 + len(first.runs)
        first.add_run()._r.append(parse_xml(f'<w:{kind}Reference {space} w:id="{number}"/>'))
    document.add_comment(document.add_paragraph("Not at noon.").runs, "Why not?", author="Ada")
    for kind, ids in (("footnote", (0, 3, 5)), ("endnote", (4,))):
        notes = "".join(
            f'<w:{kind} w:id="{one}"><w:p><w:r><w:{kind}Ref/><w:t>The {kind} {one}.</w:t></w:r></w:p></w:{kind}>'
            for one in ids
        )
        part = Part(
            PackURI(f"/word/{kind}s.xml"),
            f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}s+xml",
            f"<w:{kind}s {space}>{notes}</w:{kind}s>".encode(),
            document.part.package,
        )
        document.part.relate_to(part, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}s")
    section = document.sections[0]
    section.header.paragraphs[0].text = "Greenhouse, draft"
    for name, text in (("PAGE", "Page "), ("PAGE", "Checked by the committee, page ")):
        line = section.footer.add_paragraph(text)
        line._p.append(parse_xml(f'<w:fldSimple {space} w:instr=" {name} "><w:r><w:t>1</w:t></w:r></w:fldSimple>'))
    again = document.add_section()
    again.header.is_linked_to_previous = False
    again.header.paragraphs[0].text = "Greenhouse, draft"
    document.save(path)
    return path


def test_word_keeps_notes_and_what_stands_at_the_edges_of_pages_once(tmp_path) -> None:
    path = noted(tmp_path / "notes.docx")
    found = extract("docx", path, tmp_path)
    assert found.text == (
        "Greenhouse, draft\n\nWater at dawn[note 1][endnote 1][note 2]\n\n[note 1] The footnote 3.\n\n"
        "[note 2] The footnote 5.\n\nNot at noon.\n\n[endnote 1] The endnote 4.\n\nChecked by the committee, page 1"
    )
    assert (len(found.of("header")), len(found.of("footnote")), len(found.of("endnote")), len(found.of("footer"))) == (
        1, 2, 1, 1,
    )  # fmt: skip
    assert found.provenance["source"]["footnotes"] == 2
    assert "Comment by Ada: Why not?" in extract("docx", path, tmp_path, comments=True).text
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(tmp_path / "half.docx", "w") as half:
        for info in package.infolist():
            cut = 200 if info.filename == "word/footnotes.xml" else None
            half.writestr(info, package.read(info)[:cut])
    found = extract("docx", tmp_path / "half.docx", tmp_path)
    assert "Water at dawn[endnote 1]\n\nNot at noon." in found.text
    assert found.provenance["errors"]["messages"][0].startswith("the footnotes are damaged and left out")


def test_slides_are_pages_with_places(tmp_path) -> None:
    found = extract("pptx", SAMPLES / "limiting-factors.pptx", tmp_path)
    assert len(found.of("slide")) == 3
    assert found.of("slide")[1].startswith("Three factors\n\n- Light")
    (title,) = [row for row in found.rows if found.said(row) == "Three factors"]
    assert title["source_origin"]["page"] == 2 and title["source_origin"]["bbox"] is not None
    assert found.artifact("tables/table-0001.csv").splitlines()[-1] == "40 cm,9"


def test_slides_keep_the_figures_of_charts_and_a_footer_once(tmp_path) -> None:
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.oxml import parse_xml
    from pptx.util import Inches

    space = " ".join(
        f'xmlns:{name}="http://schemas.openxmlformats.org/{path}/2006/main"'
        for name, path in (("p", "presentationml"), ("a", "drawingml"))
    )
    presentation = pptx.Presentation()
    data = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Heat", (1.5, None))
    for number in (1, 2):
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        for place, (kind, text) in enumerate((("ftr", "Greenhouse club"), ("sldNum", str(number)))):
            slide.shapes._spTree.append(parse_xml(
                f'<p:sp {space}><p:nvSpPr><p:cNvPr id="{90 + place}" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}" idx="{10 + place}"/>'
                f"</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
            ))  # fmt: skip
        kind = XL_CHART_TYPE.LINE if number == 1 else XL_CHART_TYPE.PIE
        slide.shapes.add_chart(kind, Inches(1), Inches(1), Inches(4), Inches(3), data)
    path = tmp_path / "a.pptx"
    presentation.save(path)
    found = extract("pptx", path, tmp_path)
    assert found.text.count("Greenhouse club") == 1
    assert found.of("table") == ["| Heat\nMay | 1.5\nJune |"] * 2
    assert not any(line.strip() in {"1", "2"} for line in found.text.splitlines())


def test_sheets_keep_the_value_of_a_formula_and_the_formula_where_there_is_none(tmp_path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(SAMPLES / "meter-readings.xlsx") as package, zipfile.ZipFile(path, "w") as changed:
        for info in package.infolist():
            data = package.read(info)
            if info.filename == "xl/worksheets/sheet1.xml":
                data = data.replace(b"<f>B2/C2</f><v></v>", b"<f>B2/C2</f><v>4.209</v>")
                data = data.replace(b"<f>B2/C2</f><v/>", b"<f>B2/C2</f><v>4.209</v>")
                assert b"4.209" in data
            changed.writestr(info, data)
    text = extract("xlsx", path, tmp_path).text
    assert "2025-10-01 | 412.5 | 98 | 4.209" in text
    assert "B2/C2" not in text and "=B3/C3" in text


def test_sheets_are_pages_and_empty_ones_are_passed_over(tmp_path) -> None:
    found = extract("xlsx", SAMPLES / "meter-readings.xlsx", tmp_path)
    assert found.of("heading") == ["Meter readings", "Rooms"]
    assert [row["source_origin"]["page"] for row in found.rows if row["type"] == "sheet"] == [1, 3]
    assert "2025-10-01 | 412.5 | 98 | =B2/C2" in found.text  # no program has computed it yet
    assert found.artifact("tables/table-0002.csv").splitlines()[1] == "Kitchen,14,1"


def test_hidden_sheets_can_be_left_out(tmp_path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["seen", 1])
    hidden = book.create_sheet("Secret")
    hidden.append(["unseen", 2])
    hidden.sheet_state = "hidden"
    path = tmp_path / "a.xlsx"
    book.save(path)
    assert "unseen" in extract("xlsx", path, tmp_path).text
    assert "unseen" not in extract("xlsx", path, tmp_path, hidden_sheets=False).text


def test_a_web_page_loses_navigation_and_keeps_its_main_part(tmp_path) -> None:
    found = extract("html", SAMPLES / "sourdough.html", tmp_path)
    assert "Newsletter" not in found.text and "Shop" not in found.text and "track" not in found.text
    assert found.of("heading") == ["Why sourdough rises", "Temperature decides the taste", "When it does not rise"]
    assert found.artifact("tables/table-0001.csv").splitlines()[1] == "28 °C,4 hours,mild"
    whole = extract("html", SAMPLES / "sourdough.html", tmp_path, content="all").text
    assert "Newsletter" in whole and "track" not in whole


def test_a_short_page_is_kept_whole(tmp_path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<p>Just one line.</p>")
    assert extract("html", path, tmp_path).text == "Just one line."


def test_the_encoding_a_page_names_is_used_and_a_wrong_one_is_not(tmp_path) -> None:
    for name, data in {
        "latin": '<meta charset="windows-1251"><p>Снег и лёд</p>'.encode("cp1251"),
        "wrong": '<meta charset="ascii"><p>Снег и лёд</p>'.encode(),
        "xml": '<?xml version="1.0" encoding="utf-8"?><html><body><p>Снег и лёд</p></body></html>'.encode(),
    }.items():
        path = tmp_path / f"{name}.html"
        path.write_bytes(data)
        assert extract("html", path, tmp_path).text == "Снег и лёд"


def test_layout_tables_are_text_and_data_tables_are_tables() -> None:
    layout = (
        "<table><tr><td><table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table></td></tr></table>"
    )
    found = list(pieces(parse(f"<div>Before<br>it</div>{layout}<pre>x\n  y</pre>after <!-- no --> all")))
    assert [(piece.type, piece.text) for piece in found] == [
        ("paragraph", "Before\nit"), ("table", "a | b\n1 | 2"), ("code", "x\n  y"), ("paragraph", "after all"),
    ]  # fmt: skip


def test_html_of_great_depth_is_read() -> None:
    found = list(pieces(parse(f"<div>{'<font>' * 1000}deep<p>after")))
    assert [piece.text for piece in found] == ["deep", "after"]
    with pytest.raises(ExtractionFailed, match="nested so deeply") as refusal:
        parse(f"before{'<div>' * 5000}deep")
    assert refusal.value.reason == "too_deep"


@pytest.mark.parametrize(
    "between",
    ["<b>" * 300, "<blockquote>" * 300, f'<img src="data:,{"A" * 11_000_000}">', f"<!--{'A' * 11_000_000}-->"],
    ids=["unclosed", "quotes", "picture", "comment"],
)
def test_what_follows_in_a_page_is_never_left_out_in_silence(tmp_path, between: str) -> None:
    told = [
        f"This is paragraph {number} of the page, and it has enough words to be its main part." for number in range(4)
    ]
    page = f"<html><body><p>{told[0]}</p><p>{told[1]}</p>{between}<p>{told[2]}</p><p>{told[3]}</p></body></html>"
    (tmp_path / "a.html").write_text(page)
    assert extract("html", tmp_path / "a.html", tmp_path).text.split("\n\n") == told
    mail = f"From: a@example.org\nSubject: x\nContent-Type: text/html\n\n{page}"
    (tmp_path / "a.eml").write_text(mail)
    assert told[3] in extract("eml", tmp_path / "a.eml", tmp_path).text


def test_a_mail_with_html_alone_and_one_in_an_old_charset(tmp_path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "Grüße"
    message.set_content("<h1>Hello</h1><p>from <i>afar</i></p>", subtype="html")
    (tmp_path / "html.eml").write_bytes(message.as_bytes())
    found = extract("eml", tmp_path / "html.eml", tmp_path)
    assert found.text == "From: a@example.org\nSubject: Grüße\n\nHello\n\nfrom afar"
    raw = b"From: b@example.org\nSubject: x\nContent-Type: text/plain; charset=no-such\n\nCaf\xe9 au lait\n"
    (tmp_path / "old.eml").write_bytes(raw)
    assert extract("eml", tmp_path / "old.eml", tmp_path).text.endswith("Café au lait")


def test_a_file_with_the_headers_of_a_mail_is_one(tmp_path) -> None:
    path = tmp_path / "saved.txt"
    path.write_text("From: a@example.org\nTo: b@example.org\nDate: Mon, 6 Oct 2025 08:30:00 +0000\n\nHello\n")
    assert type_of(path) == "message/rfc822"
    path.write_text("From: the beginning\nof the year it was cold.\n")
    assert type_of(path) == "text/plain"


def test_a_book_without_one_of_its_chapters(tmp_path) -> None:
    path = tmp_path / "book.epub"
    whole = zipfile.ZipFile(SAMPLES / "circle-of-fifths.epub")
    with zipfile.ZipFile(path, "w") as part:
        for info in whole.infolist():
            if not info.filename.endswith("c1.xhtml"):
                part.writestr(info, whole.read(info))
    found = extract("epub", path, tmp_path)
    assert found.provenance["errors"]["messages"] == ["chapter 1 (OEBPS/c1.xhtml) is not in the book"]
    assert [row["source_origin"]["page"] for row in found.rows if row["type"] == "chapter"] == [2]


def ocr(name: str) -> str:
    lack = registry.extractors()[name].ready()
    if lack:
        pytest.skip(lack)
    return name


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["tesseract", "rapidocr"])
@pytest.mark.parametrize("name", ["soil-samples.png", "soil-samples-scanned.pdf"])
def test_scanned_pages_are_recognised_line_by_line(engine, name, tmp_path) -> None:
    found = extract(ocr(engine), SAMPLES / name, tmp_path)
    for words in ("Soil samples, north bed", "Below twenty centimetres it turns", "pH 6.4"):
        assert words in found.text
    assert found.provenance["source"]["mean_confidence"] > 0.8
    (row,) = [
        row for row in found.rows if found.said(row).endswith("Next sample in three weeks.") and row["type"] != "page"
    ]
    assert row["source_origin"]["bbox"][1] > 0.5


def test_pages_with_a_text_layer_are_not_recognised_again(tmp_path) -> None:
    found = extract(ocr("tesseract"), SAMPLES / "inspecting-a-heat-pump.pdf", tmp_path)
    assert found.provenance["source"]["pages_recognised"] == 0
    assert "every defrosting takes heat" in found.text


def test_an_unknown_language_is_named(tmp_path) -> None:
    with pytest.raises(ExtractionFailed, match="tesseract has no xyz") as failed:
        extract(ocr("tesseract"), SAMPLES / "soil-samples.png", tmp_path, languages="eng+xyz")
    assert failed.value.reason == "language_missing"


def test_a_table_drops_what_is_empty() -> None:
    assert table([["a", "", "b"], ["", "", ""], ["1\n2", ""]]).rows == [["a", "b"], ["1 2", ""]]
    assert table([["only"], ["one"]]).type == "paragraph"
    assert table([["", " "], []]) is None


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Съешь же ещё этих мягких французских булок, да выпей чаю. Снег и лёд зимой.", "cp1251"),
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "shift_jis"),
        ("Größe, Fläche und Länge: die Maße eines Gewächshauses über dem Fluß.", "cp1252"),
        ("Œuvres complètes – l’été à la forêt, où naît la rivière", "cp1252"),
    ],
)
def test_files_without_unicode_are_read_as_what_they_are(text: str, encoding: str) -> None:
    read, found, _ = charsets.decode((text * 4).encode(encoding))
    assert read == text * 4, found


@pytest.mark.slow
@pytest.mark.django_db
def test_each_sample_goes_through_a_child_process_into_force(store) -> None:
    """With the limits of each extractor, in the order of the table; the store and the database agree afterwards."""
    expected = {"pdf": "pdf", "docx": "docx", "pptx": "pptx", "xlsx": "xlsx", "eml": "email", "html": "html", "epub": "epub",
                "png": "image"}  # fmt: skip
    for name in TYPES:
        file_id = services.add_file(SAMPLES / name).file_id
        version = services.extract(file_id)
        assert (name, version.status, version.error) == (name, "succeeded", "")
        kind = expected[name.rpartition(".")[2]]
        rows = list(selectors.version_manifest(file_id, version.pk))
        assert {row["source_origin"]["source_type"] for row in rows} == {kind}
        assert selectors.primary_text(file_id).strip()
    assert list(invariants.check()) == []


DRAWING = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE svg [<!ENTITY space "http://www.w3.org/2000/svg">]>
<svg xmlns="&space;" width="90" height="40">
  <title>Where the water goes</title>
  <desc>From the butt to
    the beds.</desc>
  <style>text { fill: green }</style><script>alert("x")</script>
  <g><title>Butt</title><rect width="9" height="9"/><text x="1" y="2">Rain butt, <tspan font-weight="bold">300 l</tspan><!-- full -->
    in March</text></g>
  <text x="1" y="9"><tspan x="1" y="9">First the beans,</tspan><tspan x="1" y="19">then the leeks</tspan><tspan x="1" dy="10">and salad</tspan></text>
  <switch><foreignObject><div xmlns="http://www.w3.org/1999/xhtml"><p>Tap</p><p>closed in frost</p></div></foreignObject><text>Tap</text></switch>
  <text display="none">Old label</text>
</svg>
"""


def drawn(text: str, folder: Path) -> Path:
    path = folder / "plan.svg"
    path.write_text(text)
    return path


def test_a_drawing_is_read_by_its_labels(tmp_path) -> None:
    path = drawn(DRAWING, tmp_path)
    assert type_of(path) == "image/svg+xml"
    found = extract("svg", path, tmp_path)
    assert found.text.strip().split("\n\n") == [
        "Where the water goes", "From the butt to the beds.", "Butt", "Rain butt, 300 l in March",
        "First the beans,\nthen the leeks\nand salad", "Tap\nclosed in frost",
    ]  # fmt: skip
    assert found.of("title") == ["Where the water goes"]


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))


UNREADABLE = {
    "shapes": ('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>', "no_text", "the drawing has no letters"),
    "cut": ("<svg><text>cut", "damaged", "the drawing is no well-formed XML"),
    "page": ("<html><p>A page</p></html>", "damaged", "this is no SVG drawing: its outermost element is 'html'"),
    "empty": ("", "damaged", "Document is empty"),
    "bomb": (f'<!DOCTYPE svg [<!ENTITY e0 "ha">{BOMB}]><svg><text>&e11;</text></svg>', "damaged", "amplification"),
    "file": (
        '<!DOCTYPE svg [<!ENTITY f SYSTEM "file:///etc/hostname">]><svg><text>&f;</text></svg>', "damaged", "not defined"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_drawing_that_cannot_be_read_says_why(case: str, tmp_path) -> None:
    text, reason, told = UNREADABLE[case]
    with pytest.raises(ExtractionFailed, match=told) as failed:
        extract("svg", drawn(text, tmp_path), tmp_path)
    assert failed.value.reason == reason
