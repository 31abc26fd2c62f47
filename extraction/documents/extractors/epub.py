"""Books as EPUB: the chapters in reading order."""

import posixpath
import zipfile
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ..bundle import Bundle
from ..errors import ExtractionFailed
from .base import Extractor, SourceFile
from .flow import Flow, lacking, tool
from .htmltext import decode_html, parse, pieces
from .packages import opened

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
XHTML = {"application/xhtml+xml", "text/html"}
FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


class EpubExtractor(Extractor):
    name = "epub"
    version = "1.1"
    label = "Book (EPUB)"
    media_types = ("application/epub+zip",)

    def ready(self) -> str:
        return lacking("lxml")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        with opened(source.path, doctype_allowed=True) as package:
            _refuse_protected(package)
            book = _Book(package)
            bundle.source |= {"media_type": source.media_type, "title": book.title, "creator": book.creator}
            bundle.tools |= tool("lxml")
            flow = Flow(bundle, "epub", "chapter")
            for number, path in enumerate(book.chapters, start=1):
                bundle.units_attempted += 1
                try:
                    text = decode_html(package.read(path))[0]
                except KeyError:
                    bundle.errors.append(f"chapter {number} ({path[:200]}) is not in the book")
                    continue
                flow.page(number, pieces(parse(text)), part=path)
                bundle.units_completed += 1


def _refuse_protected(package: zipfile.ZipFile) -> None:
    """Fonts may be obscured; anything else that is encrypted is protected."""
    if ENCRYPTION not in package.namelist():
        return
    root = _xml(package.read(ENCRYPTION))
    methods = root.xpath("//*[local-name()='EncryptionMethod']/@Algorithm")
    if any(method not in FONTS for method in methods):
        raise ExtractionFailed("encrypted", "the book is protected: its chapters cannot be read")


class _Book:
    """What the package document says: title, creator, and the paths of the chapters in order."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        try:
            container = _xml(package.read(CONTAINER))
            path = container.xpath("string(//*[local-name()='rootfile']/@full-path)")
            root = _xml(package.read(path))
        except KeyError as error:
            raise ExtractionFailed("damaged", f"the book lacks its {str(error)[:200]}") from None
        self.title = _one(root, "title")
        self.creator = _one(root, "creator")
        items = {
            item.get("id"): item
            for item in root.xpath("//*[local-name()='manifest']/*[local-name()='item']")
            if item.get("media-type") in XHTML and item.get("href")
        }
        spine = [
            reference.get("idref") for reference in root.xpath("//*[local-name()='spine']/*[local-name()='itemref']")
        ]
        folder = posixpath.dirname(path)
        self.chapters = [
            posixpath.normpath(posixpath.join(folder, unquote(items[name].get("href").partition("#")[0])))
            for name in spine
            if name in items
        ]
        if not self.chapters:
            raise ExtractionFailed("no_text", "the book names no chapters")


def _one(root: Any, name: str) -> str:
    return " ".join(root.xpath(f"string(//*[local-name()='metadata']/*[local-name()='{name}'])").split())


def _xml(data: bytes) -> Any:
    from lxml import etree

    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError as error:
        raise ExtractionFailed("damaged", f"the book's XML cannot be read: {error}") from None
