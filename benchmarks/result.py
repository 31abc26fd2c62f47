"""What a benchmark reports: one row per measured thing."""

from dataclasses import asdict, dataclass
from typing import Any

LESS, MORE = "at most", "at least"


@dataclass(frozen=True, slots=True)
class Target:
    """A goal for a row's value, or for its ratio to the row it is compared with."""

    limit: float
    sense: str = LESS
    of_ratio: bool = False

    def met(self, value: float) -> bool:
        return value <= self.limit if self.sense == LESS else value >= self.limit

    def __str__(self) -> str:
        unit = " ×" if self.of_ratio else ""
        return f"{self.sense} {self.limit:g}{unit}"


@dataclass(frozen=True, slots=True)
class Result:
    """Median and spread (10th and 90th percentile) of one case; ``ratio`` is to the case named ``beside``."""

    benchmark: str
    case: str
    unit: str
    median: float
    low: float
    high: float
    runs: int
    beside: str = ""
    ratio: float | None = None
    target: Target | None = None
    notes: tuple[str, ...] = ()  # printed below the table

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None when there is none."""
        if self.target is None:
            return None
        value = self.ratio if self.target.of_ratio else self.median
        return value is not None and self.target.met(value)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"target": str(self.target) if self.target else None, "met": self.met}
