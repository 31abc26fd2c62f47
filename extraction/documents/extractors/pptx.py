"""Slides: each one a page, its shapes from top to bottom, charts as tables, then its notes."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..bundle import Bundle
from ..errors import ExtractionFailed
from .base import Extractor, SourceFile
from .flow import Box, Flow, Piece, lacking, table, tool
from .packages import opened


class PptxExtractor(Extractor):
    name = "pptx"
    version = "1.1"
    label = "Slides (PowerPoint)"
    media_types = ("application/vnd.openxmlformats-officedocument.presentationml.presentation",)

    def ready(self) -> str:
        return lacking("pptx", "lxml")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        from pptx import Presentation
        from pptx.exc import PackageNotFoundError

        with opened(source.path):
            try:
                presentation = Presentation(str(source.path))
            except PackageNotFoundError:
                raise ExtractionFailed("damaged", "these are no slides") from None
            bundle.source |= {"media_type": source.media_type, "title": presentation.core_properties.title or ""}
            bundle.tools |= tool("python-pptx", "lxml")
            size = (presentation.slide_width or 1, presentation.slide_height or 1)
            flow = Flow(bundle, "pptx", "slide")
            edges: set[str] = set()
            for number, slide in enumerate(presentation.slides, start=1):
                bundle.units_attempted += 1
                flow.page(number, [*_slide(slide, size, edges), *_notes(slide)])
                bundle.units_completed += 1


def _slide(slide: Any, size: tuple[int, int], edges: set[str]) -> Iterator[Piece]:
    """``edges`` are the footers and dates that were kept already: each is kept once."""
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield Piece("heading", title.text_frame.text, 1, bbox=_box(title, size))
    named = title.shape_id if title is not None else None
    shapes = [shape for shape in _shapes(slide.shapes) if shape.shape_id != named]
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if _repeats(shape, edges):
            continue
        if getattr(shape, "has_chart", False):
            yield from _chart(shape.chart, _box(shape, size))
        elif shape.has_table:
            found = table(([cell.text for cell in row.cells] for row in shape.table.rows), _box(shape, size))
            if found is not None:
                yield found
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield Piece("paragraph", _paragraphs(shape.text_frame), bbox=_box(shape, size))


def _repeats(shape: Any, edges: set[str]) -> bool:
    """Whether a shape is the slide's number, or a footer or date that was kept before; remembers those that were not."""
    from pptx.enum.shapes import PP_PLACEHOLDER

    if not shape.is_placeholder:
        return False
    kind = shape.placeholder_format.type
    if kind == PP_PLACEHOLDER.SLIDE_NUMBER:
        return True
    if kind not in {PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.HEADER}:
        return False
    text = shape.text_frame.text
    known = text in edges
    edges.add(text)
    return known


def _chart(chart: Any, box: Box | None) -> Iterator[Piece]:
    """A chart's title, and its figures as a table: categories down, series across."""
    if chart.has_title and chart.chart_title.has_text_frame and chart.chart_title.text_frame.text.strip():
        yield Piece("paragraph", chart.chart_title.text_frame.text, bbox=box)
    try:
        plots = list(chart.plots)
    except (ValueError, NotImplementedError):  # a kind of chart that the library does not know
        return
    for plot in plots:
        series = list(plot.series)
        values = [list(one.values) for one in series]
        names = [str(name) for name in plot.categories] or [str(n + 1) for n in range(max(map(len, values), default=0))]
        rows = [
            [name, *(_figure(column[place]) if place < len(column) else "" for column in values)]
            for place, name in enumerate(names)
        ]
        found = table([["", *(one.name for one in series)], *rows], box)
        if found is not None:
            yield found


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


def _shapes(shapes: Any) -> Iterator[Any]:
    """The shapes, those in groups too; their places in a group are the group's own and not used."""
    waiting = list(reversed(list(shapes)))
    while waiting:
        shape = waiting.pop()
        if hasattr(shape, "shapes"):
            waiting.extend(reversed(list(shape.shapes)))
        else:
            yield shape


def _paragraphs(frame: Any) -> str:
    lines = [(paragraph.level, paragraph.text.strip()) for paragraph in frame.paragraphs]
    shown = [(level, text) for level, text in lines if text]
    mark = "- " if len(shown) > 1 else ""
    return "\n".join(f"{'  ' * level}{mark}{text}" for level, text in shown)


def _notes(slide: Any) -> Iterator[Piece]:
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if frame is not None and frame.text.strip():
        yield Piece("notes", f"Notes: {frame.text.strip()}")


def _box(shape: Any, size: tuple[int, int]) -> Box | None:
    if None in (shape.left, shape.top, shape.width, shape.height):
        return None
    width, height = size
    sides = (
        shape.left / width, shape.top / height, (shape.left + shape.width) / width, (shape.top + shape.height) / height,
    )  # fmt: skip
    return tuple(min(1.0, max(0.0, side)) for side in sides)
