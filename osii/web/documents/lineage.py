"""The Lineage tab: where a document came from, its versions, and what was made of each, as a picture and as a list."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse

from extraction.models import Document, DocumentSource, ExtractionVersion
from osii.models import OutputKind

from .outputs import OutputRow, output_row, states

VERSIONS_SHOWN = 12
OUTPUTS_SHOWN = 12
"""Of each version; the list below the picture says how many there are."""
WIDTH, NODE_WIDTH, NODE_HEIGHT, GAP, TOP = 960, 264, 46, 12, 34
COLUMNS = (4, 348, 692)
LETTERS = 34
PLACES = ("kind", "method", "source_extraction_id")


@dataclass(slots=True)
class Node:
    """A box of the picture, in its coordinates. ``tone`` is a class of the style sheet's tones."""

    title: str
    note: str
    url: str
    tone: str
    x: int
    y: int

    @property
    def short(self) -> str:
        return self.title if len(self.title) <= LETTERS else f"{self.title[: LETTERS - 1]}…"

    @property
    def text_x(self) -> int:
        return self.x + 12

    @property
    def middle(self) -> float:
        return self.y + NODE_HEIGHT / 2

    @property
    def baseline(self) -> int:
        return self.y + 20

    @property
    def second_line(self) -> int:
        return self.y + 37


@dataclass(frozen=True, slots=True)
class Line:
    """A curve from the right of one box to the left of another; ``faint`` when what it leads to is not in force."""

    path: str
    faint: bool


@dataclass(slots=True)
class Branch:
    """A version and its outputs, as the list shows them."""

    version: ExtractionVersion
    primary: bool
    outputs: list[OutputRow] = field(default_factory=list)
    more: int = 0


@dataclass(slots=True)
class Picture:
    width: int = WIDTH
    height: int = 0
    node_width: int = NODE_WIDTH
    node_height: int = NODE_HEIGHT
    nodes: list[Node] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def context(document: Document) -> dict[str, Any]:
    """A fixed number of queries, whatever the number of versions and outputs."""
    versions = list(document.versions.filter(status=ExtractionVersion.Status.SUCCEEDED)[: VERSIONS_SHOWN + 1])
    more = len(versions) > VERSIONS_SHOWN
    versions = versions[:VERSIONS_SHOWN]
    if document.primary is not None and document.primary_id not in {version.pk for version in versions}:
        versions = [document.primary, *versions[:-1]]
    versions.sort(key=lambda version: version.pk != document.primary_id)
    branches = _branches(document, versions)
    later = DocumentSource.objects.filter(replaces=document).exclude(document=document).select_related("document")
    return {
        "picture": _picture(document, branches),
        "branches": branches,
        "more_versions": more,
        "replaced_by": list(later[:VERSIONS_SHOWN]),
    }


def _branches(document: Document, versions: list[ExtractionVersion]) -> list[Branch]:
    now = states(document)
    made: defaultdict[str, list[OutputRow]] = defaultdict(list)
    rows = document.outputs.filter(source_extraction__in=versions, status="succeeded").defer("text", "content")
    for output in rows.order_by(*PLACES, "-created_at", "-id").distinct(*PLACES):
        made[output.source_extraction_id].append(output_row(output, document, now))
    return [
        Branch(
            version,
            version.pk == document.primary_id,
            made[version.pk][:OUTPUTS_SHOWN],
            max(0, len(made[version.pk]) - OUTPUTS_SHOWN),
        )
        for version in versions
    ]


def _picture(document: Document, branches: list[Branch]) -> Picture:
    """Boxes in three columns: the file, its versions, their outputs; each version in the middle of its outputs."""
    made = Picture()
    base = reverse("document", args=[document.pk])
    y = TOP
    versions: list[tuple[Branch, Node]] = []
    for branch in branches:
        rows = max(1, len(branch.outputs))
        middle = y + ((rows - 1) * (NODE_HEIGHT + GAP)) // 2
        node = _version_node(branch, base, middle)
        made.nodes.append(node)
        versions.append((branch, node))
        for row in branch.outputs:
            box = _output_node(row, base, y)
            made.nodes.append(box)
            made.lines.append(_line(node, box, faint=not branch.primary))
            y += NODE_HEIGHT + GAP
        y += (0 if branch.outputs else NODE_HEIGHT + GAP) + GAP
    made.height = max(y, TOP + NODE_HEIGHT) + GAP
    file = Node(
        document.filename,
        document.mime,
        f"{base}?tab=source",
        "wait",
        COLUMNS[0],
        (TOP + made.height - NODE_HEIGHT) // 2,
    )
    made.nodes.insert(0, file)
    made.lines += [_line(file, node, faint=not branch.primary) for branch, node in versions]
    return made


def _version_node(branch: Branch, base: str, y: int) -> Node:
    version = branch.version
    note = f"primary · {version.text_chars:,} characters" if branch.primary else f"{version.text_chars:,} characters"
    tone = "busy" if branch.primary else "quiet"
    title = f"{version.extractor} {version.extractor_version}"
    return Node(title, note, f"{base}?tab=text&version={version.pk}", tone, COLUMNS[1], y)


def _output_node(row: OutputRow, base: str, y: int) -> Node:
    tone = {"current": "good", "stale": "warn"}.get(row.state, "quiet")
    note = f"{row.state}: {row.reason}" if row.reason else row.state
    title = f"{OutputKind(row.output.kind).label} · {row.output.method}"
    return Node(title, note, f"{base}?tab=outputs&output={row.output.pk}#opened", tone, COLUMNS[2], y)


def _line(start: Node, end: Node, *, faint: bool) -> Line:
    x, to = start.x + NODE_WIDTH, end.x
    half = (x + to) // 2
    return Line(f"M{x} {start.middle:g}C{half} {start.middle:g} {half} {end.middle:g} {to} {end.middle:g}", faint)
