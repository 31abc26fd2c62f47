"""Loaded by pytest before settings are (`-p tests.environment`): the tests' own home, and nothing of the user's set-up.

Several test processes may run at once, of one session or of several. Each takes a free slot for as long as it lives;
the slot's number names its test database and its Redis database.
"""

import fcntl
import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = BASE_DIR / "var" / "test"
SLOTS = 100  # the embedded Valkey has 128 databases; 0 stays free

for name in list(os.environ):
    if name.startswith(("OSII_", "EXTRACTION_")) or name in {"DEBUG", "ALLOWED_HOSTS", "SECRET_KEY"}:
        del os.environ[name]
os.environ |= {
    "OSII_HOME": str(HOME),
    "OSII_EMBEDDER": "hashing",
    "SECRET_KEY": "tests only",
    "OSII_LOGIN_ATTEMPTS": "0",  # tests of limits set their own
    "OSII_API_PER_MINUTE": "0",
    "OMP_WAIT_POLICY": "passive",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def take_slot() -> int:
    """The first free number from 1; the kernel frees it when this process ends, however it ends."""
    directory = HOME / "slots"
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(1, SLOTS + 1):
        descriptor = os.open(directory / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return number
    raise RuntimeError(f"all {SLOTS} test slots in {directory} are taken")


SLOT = take_slot()
