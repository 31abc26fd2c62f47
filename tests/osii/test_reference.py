"""The reference in docs/ says what the code does."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from django.conf import settings

from osii import __version__, variables
from osii.reference import commands, routes
from osii.reference import variables as settings_page

DOCS = Path(settings.BASE_DIR, "docs")
READER = re.compile(r'(?:env\.\w+|\bpath)\(\s*[\'"]([A-Z][A-Z_]+)[\'"]')
"""A call that reads a variable; `env.home` reads its own."""


def test_the_pages_are_what_the_code_says():
    """Asked in a process of its own: other tests of this one register workers."""
    command = [sys.executable, "-W", "ignore", str(settings.BASE_DIR / "manage.py"), "reference", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_command_says_of_itself_is_in_the_page():
    page = commands.page()
    assert "manage.py promote_extraction [--json] FILE_ID [EXTRACTION_ID]" in page
    assert "| `--take-back` | return to the version that was primary before |" in page


def test_every_variable_that_is_read_has_its_text_and_no_other():
    described = {name for texts in variables.TEXTS.values() for name in texts}
    read = {
        name
        for app in ("osii", "extraction", "graphctx", "coverage")
        for path in Path(settings.BASE_DIR, app).rglob("*.py")
        for name in READER.findall(path.read_text(encoding="utf-8"))
    }
    assert read == described
    assert settings_page.read().keys() >= described - {"OSII_TOKEN"}  # which one command reads, when it runs
    assert set(variables.DEFAULTS) <= described


def test_the_page_of_settings_says_what_a_value_must_be():
    lines = settings_page.page().splitlines()
    chunk = next(line for line in lines if line.startswith("| `EXTRACTION_CHUNK_TOKENS` |"))
    assert chunk.startswith("| `EXTRACTION_CHUNK_TOKENS` | `4000` | a whole number from 500 to 32000 |")


def test_the_page_of_routes_says_who_may_call_and_what_comes():
    page = routes.page()
    section = page.partition("## POST /api/runs\n")[2].partition("\n## ")[0]
    assert "For staff." in section
    assert "201: [RunDetailOut](#rundetailout)" in section
    assert "Body: [RunIn](#runin)." in section


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    words = [
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    ]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in words}


def test_every_page_of_the_documentation_is_reached_and_no_link_leads_nowhere():
    root = Path(settings.BASE_DIR)
    reached: set[Path] = set()
    for page in (root / "README.md", root / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))):
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", prose(page)):
            path = (page.parent / target).resolve() if target else page
            assert path.exists(), (page.name, target)
            assert not anchor or anchor in anchors(path), (page.name, target, anchor)
            reached.add(path)
    assert {page for page in DOCS.glob("*.md") if page.resolve() not in reached} == set()


def test_the_index_names_every_page():
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", prose(DOCS / "README.md")))
    assert {page.name for page in DOCS.glob("*.md")} - named == {"README.md"}


def test_the_version_is_one():
    about = tomllib.loads(Path(settings.BASE_DIR, "pyproject.toml").read_text(encoding="utf-8"))
    assert about["project"]["version"] == __version__
