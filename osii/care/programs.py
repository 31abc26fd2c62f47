"""PostgreSQL's own pg_dump and pg_restore: which ones fit the server, and how they are told where it is."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
from django.db import connection
from psycopg.conninfo import make_conninfo

from osii.embedded.paths import EmbeddedError
from osii.embedded.placement import installed
from osii.embedded.postgres import environment

LEAST = 17
"""The oldest pg_dump that can leave extensions out: these belong to the server's administrator."""


class ProgramError(Exception):
    """pg_dump or pg_restore is missing, does not fit the server, or failed; one line."""


def find(name: str, server: int) -> Path:
    """The program of at least the server's major version. Raises ProgramError."""
    seen = []
    for path in _candidates(name):
        major = _major(path)
        if major >= max(server, LEAST):
            return path
        seen.append(f"{path} is {major}")
    found = "; ".join(seen) or "there is none"
    raise ProgramError(
        f"the server is PostgreSQL {server}, which needs {name} {max(server, LEAST)} or newer, but {found}: "
        f"install PostgreSQL's client programs and put them into PATH"
    )


def _candidates(name: str) -> Iterator[Path]:
    try:
        own = installed() / "pginstall" / "bin" / name
        if own.is_file():
            yield own
    except EmbeddedError:
        pass
    if elsewhere := shutil.which(name):
        yield Path(elsewhere)


def _major(path: Path) -> int:
    """0 when it does not run."""
    try:
        told = subprocess.run([path, "--version"], check=False, capture_output=True, text=True).stdout
    except OSError:
        return 0
    number = re.search(r"\s(\d+)", told)
    return int(number[1]) if number else 0


def server_major() -> int:
    connection.ensure_connection()
    return connection.pg_version // 10000


def address() -> tuple[str, dict[str, str]]:
    """Where the database is, as a connection string, and the environment that holds its password: a command line is
    seen by every user of the machine."""
    known = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
    params = {key: value for key, value in connection.get_connection_params().items() if key in known and value}
    password = params.pop("password", "")
    told = environment() | ({"PGPASSWORD": password} if password else {})
    for name in ("PGPASSFILE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY"):
        if name in os.environ:
            told[name] = os.environ[name]
    return make_conninfo(**params), told


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
