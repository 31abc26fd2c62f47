"""Speed measured on demand: `manage.py bench`. One module per benchmark; each measures beside its rivals."""

from .registry import Benchmark, registry

__all__ = ["Benchmark", "registry"]
