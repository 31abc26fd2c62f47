"""May we use what is locked? Permissive licences go without saying; each other one has its reason here.

A package that changes its licence, or comes with one that is not known here, fails the check.
"""

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata

PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0"),
    *("MIT-CMU", "PSF-2.0", "Unlicense", "Zlib"),
    # The same in other words.
    *("3-Clause BSD License", "Apache 2.0", "Apache 2.0 License", "Apache Software License", "BSD", "BSD License"),
    *("BSD 2-Clause License", "ISC License", "ISC License (ISCL)", "MIT License", "PSFL"),
    *("Python Software Foundation License", "The BSD 2-Clause License"),
}

EXPRESSION = re.compile(r"[\w.+-]+(?: (?:AND|OR|WITH) [\w.+-]+)*", re.ASCII)
SAYS_NOTHING = {"", "DFSG approved", "OSI Approved"}

EXCEPTIONS = {
    "axe-playwright-python": ("", "tests only; its licence file is MIT, and the axe inside is MPL-2.0, used as it is"),
    "certifi": ("MPL-2.0", "a list of certificates, used as it is"),
    "hypothesis": ("MPL-2.0", "tests only"),
    "pathspec": ("Mozilla Public License 2.0 (MPL 2.0)", "mypy's, for development only; used as it is"),
    "psycopg": ("LGPL-3.0-only", "a library that is imported, unchanged and exchangeable"),
    "psycopg-binary": ("LGPL-3.0-only", "a library that is imported, unchanged and exchangeable"),
    "pypdfium2": ("BSD-3-Clause, Apache-2.0, dependency licenses", "permissive all, those of PDFium's parts too"),
    "supervisor": ("BSD-derived (http://www.repoze.org/LICENSE.txt)", "the text is BSD's, with a clause about names"),
    "tld": ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", "a library that is imported, unchanged, under MPL-1.1"),
    "tqdm": ("MPL-2.0 AND MIT", "a library that is imported, unchanged"),
}
"""Name: what it says of itself, and why it may stay."""


def said(name: str) -> str:
    """The licence that an installed package declares: an expression, its licence field, or else its classifiers.

    Raises PackageNotFoundError.
    """
    told = metadata(name)
    if expression := told.get("License-Expression"):
        return expression
    field = (told.get("License") or "").strip().partition("\n")[0].strip()
    if EXPRESSION.fullmatch(field) or permissive(field):
        return field
    # Some put a whole text or a sentence into the field; then the classifiers are plainer.
    kinds = [
        line.rpartition("::")[2].strip() for line in told.get_all("Classifier") or [] if line.startswith("License")
    ]
    return " AND ".join(kind for kind in kinds if kind not in SAYS_NOTHING) or field


def permissive(expression: str) -> bool:
    """Whether one of its alternatives consists of permissive licences alone."""
    ways = re.split(r" OR ", expression)
    return any(all(part.partition(" WITH ")[0] in PERMISSIVE for part in way.split(" AND ")) for way in ways)


def problems(names: Iterable[str]) -> list[str]:
    """One line for each package that may not stay as it is, and for each exception that is none any more."""
    found, used = [], set()
    for name in names:
        try:
            licence = said(name)
        except PackageNotFoundError:
            found.append(f"{name} is locked and not installed: run make again")
            continue
        known, _reason = EXCEPTIONS.get(name, (None, ""))
        if known is not None:
            used.add(name)
        if known is None and not permissive(licence):
            found.append(f"{name} is under {licence or 'no licence that it names'}: replace it, or give the reason")
        elif known is not None and (licence != known or permissive(licence)):
            found.append(f"{name} is under {licence!r}, and its exception is about {known!r}: look at it again")
    return found + [f"{name} is no package of ours: its exception can go" for name in sorted(EXCEPTIONS.keys() - used)]
