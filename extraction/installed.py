"""Extract workers that installed packages bring, by their entry points. The settings ask for them too: no Django here."""

import functools
from collections.abc import Mapping
from importlib.metadata import entry_points

GROUP = "osii.workers"


@functools.cache
def worker_paths() -> Mapping[str, str]:
    """``{name: "package.module:Class"}`` of the group ``osii.workers``; nothing is imported."""
    return {point.name: point.value for point in entry_points(group=GROUP)}
