"""The reference in docs/ says what the code does."""

import re
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from osii import reference

DOCS = Path(settings.BASE_DIR, "docs")
# Read where they are used: before the settings, or by one command.
READER = re.compile(r'env\.\w+\(\s*"([A-Z][A-Z_]+)"')


def test_the_page_of_commands_is_what_the_commands_say():
    """Asked in a process of its own: other tests of this one register workers."""
    command = [sys.executable, "-W", "ignore", str(settings.BASE_DIR / "manage.py"), "reference", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_command_says_of_itself_is_in_the_page():
    page = reference.page()
    assert "manage.py promote_extraction [--json] FILE_ID [EXTRACTION_ID]" in page
    assert "| `--take-back` | return to the version that was primary before |" in page


def test_every_variable_that_is_read_is_in_the_table_of_settings_and_no_other():
    table = DOCS.joinpath("operations.md").read_text(encoding="utf-8").partition("## Settings")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))))
    read = {
        name
        for app in ("osii", "extraction", "graphctx", "coverage")
        for path in Path(settings.BASE_DIR, app).rglob("*.py")
        for name in READER.findall(path.read_text(encoding="utf-8"))
    }
    assert {"OSII_WORKERS", "EXTRACTION_CHUNK_TOKENS"} <= read
    assert read - named == set(), "missing in docs/operations.md"
    assert named - read <= {"OSII_HOME", "DATABASE_URL", "REDIS_URL"}, "named there but read nowhere"


def test_every_page_of_the_documentation_is_reached_and_no_link_leads_nowhere():
    readme = Path(settings.BASE_DIR, "README.md")
    reached: set[Path] = set()
    for page in (readme, *sorted(DOCS.glob("*.md"))):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            path = (page.parent / target).resolve()
            assert path.exists(), (page.name, target)
            reached.add(path)
    assert {page for page in DOCS.glob("*.md") if page.resolve() not in reached} == set()
