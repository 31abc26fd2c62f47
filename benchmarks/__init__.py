"""Speed measured on demand: `manage.py bench`. One module per benchmark; each measures beside its rivals."""

from collections.abc import Callable

from .result import Result


def registry() -> dict[str, Callable[[], list[Result]]]:
    """Name → benchmark. Each makes its own learner in the scratch database and returns its rows."""
    from . import context_speed, diff_speed, import_speed, scan_speed

    return {
        "import": import_speed.run,
        "diff": diff_speed.run,
        "scan": scan_speed.run,
        "context": context_speed.run,
    }
