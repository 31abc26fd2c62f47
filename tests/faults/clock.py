"""A clock that jumps: the file ``clock`` in FAULT_DIR says by how many seconds this installation's Python processes are
ahead of the database. Each process looks at it every half second, as if somebody had set its machine's clock."""

import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine

EVERY_SECONDS = 0.5


def set_ahead(directory: Path, seconds: float) -> None:
    """Let the clocks jump; 0 sets them right."""
    file = directory / "clock"
    fresh = file.with_suffix(".new")
    fresh.write_text(str(seconds))
    fresh.replace(file)


def install() -> None:
    """In this process only."""
    threading.Thread(target=_follow, name="clock", daemon=True).start()


def _follow() -> None:
    file, now, travel = Path(os.environ["FAULT_DIR"]) / "clock", 0.0, None
    pause = threading.Event()
    while True:
        wanted = float(file.read_text()) if file.exists() else 0.0
        if wanted != now:
            if travel is not None:
                travel.stop()
                travel = None
            if wanted:
                travel = time_machine.travel(datetime.now(UTC) + timedelta(seconds=wanted), tick=True)
                travel.start()
            now = wanted
        pause.wait(EVERY_SECONDS)
