"""Writes the sample documents that are no plain text: `python osii/samples/make_documents.py`.

Everything in them is made up for this project. They are committed; this says how they came about.
"""

import ctypes
import io
import random
import zipfile
from datetime import UTC, date, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

import docx
import openpyxl
import pptx
import pypdfium2
from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.shared import Pt
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from pptx.util import Inches
from pypdfium2 import raw

FOLDER = Path(__file__).resolve().parent / "documents" / "formats"

MANUAL = (
    ("Inspecting a heat pump in autumn", 20),
    ("Before the heating season begins, look at four things: the refrigerant pressure, the fan of", 11),
    ("the outdoor unit, the filter in the heating circuit and the settings of the heating curve.", 11),
    ("", 11),
    ("Leaves and dust on the evaporator cost more than most people expect: a unit that cannot", 11),
    ("draw enough air has to defrost more often, and every defrosting takes heat from the house.", 11),
)
FLOW = [
    ("Outdoor temperature", "Flow temperature", "Seasonal factor"),
    ("10 °C", "30 °C", "5.1"),
    ("2 °C", "35 °C", "4.2"),
    ("-7 °C", "42 °C", "3.1"),
]
SECOND_PAGE = (
    ("What to write down", 16),
    ("Note the date, both pressures and the flow temperature at the time of the visit. Readings", 11),
    ("without the outdoor temperature say little, because the same pump shows different values on", 11),
    ("a mild and on a frosty day.", 11),
)


def pdf(path: Path) -> None:
    """Two pages with a text layer; the first has a table with printed lines."""
    document = pypdfium2.PdfDocument.new()
    page = document.new_page(595, 842)
    y = _lines(document, page, MANUAL, 780)
    _table(document, page, FLOW, 72, y - 20)
    page.gen_content()
    page = document.new_page(595, 842)
    _lines(document, page, SECOND_PAGE, 780)
    page.gen_content()
    document.save(path)


def _lines(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, lines: tuple, y: float) -> float:
    for text, size in lines:
        if text:
            _text(document, page, text, 72, y, size)
        y -= 1.35 * size
    return y


def _text(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, text: str, x: float, y: float, size: float) -> None:
    piece = raw.FPDFPageObj_NewTextObj(document, b"Helvetica", size)
    data = ctypes.create_string_buffer(text.encode("utf-16-le") + b"\0\0")
    raw.FPDFText_SetText(piece, ctypes.cast(data, raw.FPDF_WIDESTRING))
    raw.FPDFPageObj_Transform(piece, 1, 0, 0, 1, x, y)
    raw.FPDFPage_InsertObject(page, piece)


def _table(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, rows: list, x: float, y: float) -> None:
    width, height = 140, 20
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            left, bottom = x + column * width, y - (row + 1) * height
            border = raw.FPDFPageObj_CreateNewRect(left, bottom, width, height)
            raw.FPDFPageObj_SetStrokeColor(border, 0, 0, 0, 255)
            raw.FPDFPageObj_SetStrokeWidth(border, 0.8)
            raw.FPDFPath_SetDrawMode(border, raw.FPDF_FILLMODE_NONE, 1)
            raw.FPDFPage_InsertObject(page, border)
            _text(document, page, cell, left + 6, bottom + 6, 10)


def word(path: Path) -> None:
    """Headings, a list, a table, a page break, a footnote, and what stands at the edges of each page."""
    document = docx.Document()
    document.core_properties.title = "Watering plan for the greenhouse"
    document.core_properties.author = ""
    document.styles["Normal"].font.size = Pt(11)
    document.add_heading("Watering plan for the greenhouse", 0)
    opening = document.add_paragraph(
        "Tomatoes take up most water between fruit set and ripening; basil wants little, but daily."
    )
    footnote(document, opening, "Measured with tensiometers in the north bed, June to August 2025.")
    section = document.sections[0]
    section.header.paragraphs[0].text = "Community greenhouse, north side"
    section.footer.paragraphs[0].add_run("Page ")
    section.footer.paragraphs[0]._p.append(field("PAGE"))
    document.add_heading("Rules of thumb", 1)
    for rule in ("Water early in the morning.", "Never wet the leaves of tomatoes.", "Let the pots drain for an hour."):
        document.add_paragraph(rule, style="List Bullet")
    document.add_heading("Amounts", 1)
    table = document.add_table(rows=0, cols=3)
    for cells in (("Plant", "Litres a day", "Best time"), ("Tomato", "1.5", "6 am"), ("Cucumber", "2.0", "6 am"),
                  ("Basil", "0.3", "noon")):  # fmt: skip
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    document.add_page_break()
    document.add_heading("When it is hot", 1)
    document.add_paragraph("Above 30 °C every amount is raised by half, and the roof vents are opened before nine.")
    document.save(path)


WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def field(name: str):
    """What Word computes for each page."""
    return parse_xml(f'<w:fldSimple {WORD} w:instr=" {name} "><w:r><w:t>1</w:t></w:r></w:fldSimple>')


def footnote(document, paragraph, text: str) -> None:
    """The library reads and writes no footnotes, so the part is written here."""
    notes = f'<w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t> {text}</w:t></w:r></w:p></w:footnote>'
    separators = "".join(
        f'<w:footnote w:type="{kind}" w:id="{number}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
        for number, kind in enumerate(("separator", "continuationSeparator"))
    )
    part = Part(
        PackURI("/word/footnotes.xml"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml",
        f"<w:footnotes {WORD}>{separators}{notes}</w:footnotes>".replace(
            "<w:t> ", '<w:t xml:space="preserve"> '
        ).encode(),
        document.part.package,
    )
    document.part.relate_to(part, RT.FOOTNOTES)
    paragraph.add_run()._r.append(parse_xml(f'<w:footnoteReference {WORD} w:id="2"/>'))


def slides(path: Path) -> None:
    """Three slides: a title, bullets with notes, a table."""
    presentation = pptx.Presentation()
    presentation.core_properties.title = "Limiting factors of photosynthesis"
    presentation.core_properties.author = ""
    layouts = presentation.slide_layouts
    first = presentation.slides.add_slide(layouts[0])
    first.shapes.title.text = "Limiting factors of photosynthesis"
    first.placeholders[1].text = "Why more light does not always help"
    second = presentation.slides.add_slide(layouts[1])
    second.shapes.title.text = "Three factors"
    frame = second.placeholders[1].text_frame
    frame.text = "Light: energy for splitting water"
    for text in ("Carbon dioxide: the carbon of the sugar", "Temperature: how fast the enzymes work"):
        frame.add_paragraph().text = text
    second.notes_slide.notes_text_frame.text = "Ask which factor limits a plant on a bright winter morning."
    third = presentation.slides.add_slide(layouts[5])
    third.shapes.title.text = "Bubbles in a minute"
    rows = (("Distance of the lamp", "Bubbles"), ("10 cm", "42"), ("20 cm", "27"), ("40 cm", "9"))
    table = third.shapes.add_table(len(rows), 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    presentation.save(path)


def sheets(path: Path) -> None:
    """A sheet of readings with dates and a formula, an empty sheet, and a second small one."""
    book = openpyxl.Workbook()
    readings = book.active
    readings.title = "Meter readings"
    readings.append(["Date", "Heat (kWh)", "Electricity (kWh)", "Factor"])
    for number, (heat, power) in enumerate(((412.5, 98.0), (530.0, 139.5), (298.0, 66.0)), start=2):
        readings.append([date(2025, 9 + number - 1, 1), heat, power, f"=B{number}/C{number}"])
    book.create_sheet("Empty")
    rooms = book.create_sheet("Rooms")
    for row in (["Room", "Area (m²)", "Radiators"], ["Kitchen", 14, 1], ["Study", 11.5, 2]):
        rooms.append(row)
    book.save(path)


def mail(path: Path) -> None:
    """A mail with a plain and an HTML body and one attachment."""
    message = EmailMessage()
    message["From"] = "Workshop <workshop@example.org>"
    message["To"] = "Sample learner <learner@example.org>"
    message["Date"] = format_datetime(datetime(2025, 10, 6, 8, 30, tzinfo=UTC))
    message["Subject"] = "Your bicycle: brakes and rear hub"
    message.set_content(
        "The brake pads were worn to half a millimetre and have been replaced.\n\n"
        "The rear hub has play. It lasts another season; after that the bearings should be changed.\n"
    )
    message.add_alternative(
        "<p>The brake pads were worn to half a millimetre and have been <b>replaced</b>.</p>"
        "<p>The rear hub has play. It lasts another season; after that the bearings should be changed.</p>",
        subtype="html",
    )
    message.add_attachment("part;price\nbrake pads;24.00\n", subtype="csv", filename="invoice.csv")
    path.write_bytes(message.as_bytes())


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Why sourdough rises</title></head><body>
<nav><a href="/">Start</a> <a href="/bread">All about bread</a> <a href="/shop">Shop</a></nav>
<main><article><h1>Why sourdough rises</h1>
<p>A sourdough starter is a culture of wild yeasts and lactic acid bacteria. The yeasts produce the carbon dioxide that lifts
the dough; the bacteria make the acids that give the bread its taste and keep moulds away.</p>
<h2>Temperature decides the taste</h2>
<p>Warm starters, at about 28&nbsp;°C, turn out mild, because lactic acid prevails. At 20&nbsp;°C the share of acetic acid grows,
and the bread becomes sharper. Below 10&nbsp;°C the culture all but sleeps and needs feeding only once a week.</p>
<table><tr><th>Temperature</th><th>Time until it doubles</th><th>Taste</th></tr>
<tr><td>28 °C</td><td>4 hours</td><td>mild</td></tr><tr><td>20 °C</td><td>9 hours</td><td>sharp</td></tr></table>
<h2>When it does not rise</h2>
<ul><li>The flour is too old: fresh rye flour brings yeasts of its own.</li>
<li>The starter was fed too late: after two days without food the acids hold back the yeasts.</li></ul>
</article></main>
<footer>Imprint · Privacy · Newsletter</footer><script>track("page")</script></body></html>
"""

CHAPTERS = (
    ("Hearing fifths", "Two tones whose frequencies stand in the ratio of three to two form a perfect fifth. The ear takes it for "
     "rest: nothing in it wants to move on."),
    ("Twelve steps that do not close", "Twelve perfect fifths lead almost, but not quite, to the tone one began with. The small gap "
     "is called the Pythagorean comma, and every temperament is a way of hiding it."),
)  # fmt: skip


def book(path: Path) -> None:
    """Two chapters."""
    container = (
        '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in (1, 2))
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">osii-sample-fifths</dc:identifier>'
        "<dc:title>A short walk around the circle of fifths</dc:title><dc:language>en</dc:language></metadata>"
        f'<manifest>{items}</manifest><spine><itemref idref="c1"/><itemref idref="c2"/></spine></package>'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("OEBPS/book.opf", package)
        for number, (title, text) in enumerate(CHAPTERS, start=1):
            archive.writestr(
                f"OEBPS/c{number}.xhtml",
                f'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>'
                f"{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>",
            )


NOTE = (
    "Soil samples, north bed",
    "The upper layer is loose and dark.",
    "Below twenty centimetres it turns",
    "to heavy clay that holds water.",
    "",
    "Measured acidity: pH 6.4",
    "Next sample in three weeks.",
)


def picture() -> Image.Image:
    """A typed note as a scanner would see it: a little crooked, a little grey."""
    image = Image.new("L", (1240, 700), 250)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(44)
    for number, line in enumerate(NOTE):
        draw.text((120, 100 + 62 * number), line, fill=25, font=font)
    noise = random.Random(5)
    for _ in range(1500):
        image.putpixel((noise.randrange(1240), noise.randrange(700)), noise.randrange(120, 220))
    return image.rotate(0.6, fillcolor=250, resample=Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(0.6))


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    pdf(FOLDER / "inspecting-a-heat-pump.pdf")
    word(FOLDER / "watering-plan.docx")
    slides(FOLDER / "limiting-factors.pptx")
    sheets(FOLDER / "meter-readings.xlsx")
    mail(FOLDER / "bicycle-workshop.eml")
    (FOLDER / "sourdough.html").write_text(PAGE, encoding="utf-8")
    book(FOLDER / "circle-of-fifths.epub")
    scanned = picture()
    scanned.quantize(16).save(FOLDER / "soil-samples.png", optimize=True)
    jpeg = io.BytesIO()
    scanned.save(jpeg, "JPEG", quality=60)
    Image.open(jpeg).save(FOLDER / "soil-samples-scanned.pdf", resolution=150)


if __name__ == "__main__":
    main()
