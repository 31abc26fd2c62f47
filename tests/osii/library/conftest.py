"""Documents with two extraction versions, in a store of their own."""

from collections.abc import Callable

import pytest

from extraction.documents import services
from extraction.models import Document
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

NOTES = """# Leaf notes

Chloroplasts hold the pigment chlorophyll, and chlorophyll absorbs red and blue light.
Light reactions split water, and the oxygen of the air comes from that water.

The Calvin cycle fixes carbon dioxide. It needs the products of the light reactions, so it stops soon after dark.
The Calvin cycle runs in the stroma of the chloroplast, and light reactions run in the thylakoid membrane.

- Warmth speeds the Calvin cycle up to about thirty degrees.
- Strong light without carbon dioxide damages the chloroplast.
"""


@pytest.fixture
def document(extracted) -> Document:
    """A document with a primary, extracted as text."""
    return extracted("notes.md", NOTES).document


@pytest.fixture
def promote(document: Document) -> Callable[[str], None]:
    return lambda extraction_id: services.promote(document.pk, extraction_id, "Ada") and document.refresh_from_db()


@pytest.fixture
def variant(document: Document) -> str:
    """Id of another version of the document, which is not primary: the same in capitals."""
    return services.extract(document.pk, "upper", "save_variant").pk
