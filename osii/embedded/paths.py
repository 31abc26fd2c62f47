"""Where the embedded servers keep their files and sockets.

Sockets live in a short private directory under /tmp, because a socket's path may have about 107 bytes at most and a
home directory may be deep. The directory's name is derived from the real path of OSII_HOME, so that two homes never
meet and that every process knows the URLs without asking.
"""

import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

ROLE = "osii"
DATABASE = "osii"


class EmbeddedError(Exception):
    """An embedded server cannot be used; the text is one line for people, naming the log file where there is one."""


@dataclass(frozen=True)
class Layout:
    """All paths of one OSII_HOME; `home` is absolute and resolved."""

    home: Path

    @classmethod
    def of(cls, home: Path) -> "Layout":
        return cls(Path(os.path.realpath(home)))

    @property
    def key(self) -> str:
        return hashlib.blake2b(os.fsencode(self.home), digest_size=4).hexdigest()

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def sockets(self) -> Path:
        return Path(f"/tmp/osii-{os.geteuid()}-{self.key}")

    @property
    def postgres_sockets(self) -> Path:
        return self.sockets / "postgres"

    @property
    def valkey_socket(self) -> Path:
        return self.sockets / "valkey" / "valkey.sock"

    @property
    def database_url(self) -> str:
        return f"postgresql://{ROLE}@/{DATABASE}?host={self.postgres_sockets}"

    def redis_url(self, number: int = 0) -> str:
        return f"unix://{self.valkey_socket}?db={number}"

    def make_home(self) -> None:
        """Make the home when it is missing; private, except that root's database server, not root, passes through."""
        if not self.home.exists():
            self.home.mkdir(parents=True, exist_ok=True)
            self.home.chmod(0o711 if os.geteuid() == 0 else 0o700)

    def prepare(self) -> None:
        """Make the home with its directories for locks and logs; raise EmbeddedError when it cannot be."""
        try:
            self.make_home()
            for directory in (self.run, self.logs):
                directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise EmbeddedError(f"OSII_HOME {self.home} cannot be used: {error.strerror}") from None

    def open_sockets(self) -> None:
        """Make the socket directories; raise EmbeddedError when another user could interfere."""
        private_directory(self.sockets, mode=0o711 if os.geteuid() == 0 else 0o700)
        private_directory(self.valkey_socket.parent)

    def close_sockets(self) -> None:
        """Remove the socket directories, once no server uses them."""
        shutil.rmtree(self.sockets, ignore_errors=True)


def private_directory(path: Path, *, mode: int = 0o700, owner: int | None = None, group: int | None = None) -> None:
    """Make `path` for `owner` (default: this user), or check that it is a real directory that only its owner writes."""
    wanted = os.geteuid() if owner is None else owner
    try:
        path.mkdir(mode=mode)
        path.chmod(mode)
        if owner is not None and os.geteuid() == 0:
            os.chown(path, owner, -1 if group is None else group)
    except FileExistsError:
        pass
    except OSError as error:
        raise EmbeddedError(f"{path} cannot be made: {error.strerror}") from None
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != wanted or found.st_mode & 0o022:
        raise EmbeddedError(
            f"{path} exists but is not a private directory of user id {wanted}: remove it and try again"
        )
