"""SVG drawings: what they say in letters. Nothing is drawn, so what is only shapes stays unread."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..bundle import Bundle
from ..errors import ExtractionFailed
from ..limits import MIB, Limits
from .base import Extractor, SourceFile
from .flow import Flow, Piece, lacking, tool
from .packages import ENTITY

SVG = "image/svg+xml"
UNSEEN = {"script", "style", "metadata"}
NOTES = {"title", "desc"}
HTML_BLOCKS = {"br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "td", "th", "tr"}


class SvgExtractor(Extractor):
    name = "svg"
    version = "1.0"
    label = "SVG drawing (its title, descriptions and labels)"
    media_types = (SVG,)
    limits = Limits(wall_seconds=300, cpu_seconds=300, memory_bytes=2048 * MIB)

    def ready(self) -> str:
        return lacking("lxml")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        root = _parse(source.path.read_bytes())
        title = next((_words(child) for child in root if _local(child) == "title"), "")
        found = list(_pieces(root))
        if not found:
            raise ExtractionFailed(
                "no_text", "the drawing has no letters, only shapes: as PNG or PDF, what they show can be recognised"
            )
        bundle.source |= {"media_type": source.media_type, "title": title}
        bundle.tools |= tool("lxml")
        bundle.units_attempted = bundle.units_completed = 1
        Flow(bundle, "svg", "document").page(None, found)


def _parse(data: bytes) -> Any:
    """The drawing's root. Raises ExtractionFailed "damaged".

    Entities of its own are resolved, as drawing programs declare name spaces by them, within libxml2's bound on how far
    they multiply; what lies in other files or hosts is never loaded.
    """
    from lxml import etree

    # Without huge_tree a picture of over 10 MB inside a drawing is an error; with it the bound on entities is off.
    huge = ENTITY.search(data) is None
    parser = etree.XMLParser(resolve_entities="internal", no_network=True, load_dtd=False, huge_tree=huge)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = str(error).partition(" (<string>")[0]  # what the parser calls its source says nothing
        raise ExtractionFailed("damaged", f"the drawing is no well-formed XML: {reason}") from None
    if _local(root) != "svg":
        raise ExtractionFailed("damaged", f"this is no SVG drawing: its outermost element is {_local(root)[:80]!r}")
    return root


def _local(element: Any) -> str:
    """An element's name without its name space; "" for comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _pieces(root: Any) -> Iterator[Piece]:
    """Titles, descriptions, labels and passages of HTML, in the order of the file. Does not recurse, however deep it is."""
    from lxml import etree

    other_languages: set[Any] = set()
    walk = etree.iterwalk(root, events=("start",))
    for _, element in walk:
        name = _local(element)
        if name in UNSEEN or element.get("display") == "none" or element in other_languages:
            walk.skip_subtree()
        elif name in NOTES or name in {"text", "foreignObject"}:
            text = _words(element)
            if text:
                first = name == "title" and element.getparent() is root
                yield Piece("title" if first else "paragraph", text)
            walk.skip_subtree()
        elif name == "switch":  # the same for several readers: one of them is shown
            shown = next((child for child in element if "".join(child.itertext()).strip()), None)
            other_languages.update(child for child in element if child is not shown)


def _words(element: Any) -> str:
    """The text of an element, line by line; notes inside a label are no part of it."""
    from lxml import etree

    parts: list[str] = []
    height = element.get("y")
    walk = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if event == "start":
            if node is not element and _local(node) in UNSEEN | NOTES:
                walk.skip_subtree()
                continue
            if _local(node) == "tspan":
                now = node.get("y", height)
                parts.append("\n" if now != height or node.get("dy", "0") not in {"0", "0em"} else "")
                height = now
            elif _local(node) in HTML_BLOCKS:
                parts.append("\n")
            parts.append(_flat(node.text))
        elif node is not element:
            parts.append(_flat(node.tail))
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _flat(text: str | None) -> str:
    """Line ends of the file are white space in the drawing."""
    return re.sub(r"\s+", " ", text) if text else ""
