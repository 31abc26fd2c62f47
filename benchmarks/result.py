"""What a benchmark reports: one row per measured thing."""

from dataclasses import asdict, dataclass
from typing import Any

LESS, MORE = "at most", "at least"


@dataclass(frozen=True, slots=True)
class Target:
    """A goal for a row's value, or for its ratio to the row it is compared with, or to the best rival."""

    limit: float
    sense: str = LESS
    of_ratio: bool = False
    of_rival: bool = False

    def met(self, value: float) -> bool:
        return value <= self.limit if self.sense == LESS else value >= self.limit

    def __str__(self) -> str:
        unit = " × the rival" if self.of_rival else " ×" if self.of_ratio else ""
        return f"{self.sense} {self.limit:g}{unit}"


@dataclass(frozen=True, slots=True)
class Result:
    """Median and spread (10th and 90th percentile) of one case; ``ratio`` is to the case named ``beside``.

    ``to_rival`` is the ratio to the best rival in the same rounds, ``growth`` the exponent with which the time of an operation
    grows from the size before (1: ten times as much takes ten times as long), ``peak_mb`` what one operation adds to the
    memory of this process at its highest, ``queries`` how many statements it sends to the database.
    """

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
    to_rival: float | None = None
    growth: float | None = None
    peak_mb: float | None = None
    queries: int | None = None
    notes: tuple[str, ...] = ()  # printed below the table

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None when there is none."""
        if self.target is None:
            return None
        value = self.to_rival if self.target.of_rival else self.ratio if self.target.of_ratio else self.median
        return value is not None and self.target.met(value)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"target": str(self.target) if self.target else None, "met": self.met}
