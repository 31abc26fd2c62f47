"""What the use of a model costs, by the prices per million tokens that were set up for it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal

MILLION = Decimal(1_000_000)
EXACT = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Prices:
    """Per million tokens, in one currency for all. Without the first two, no cost is known."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def cost(self, usage: Mapping[str, int]) -> Decimal | None:
        """The price of this usage, to a millionth; None when it is not known.

        ``input_tokens`` holds what was read from and written to a cache, as every provider's figures come out of the
        library; those two have prices of their own.
        """
        if self.input is None or self.output is None:
            return None
        read, written = usage.get("cache_read_tokens", 0), usage.get("cache_write_tokens", 0)
        plain = max(0, usage.get("input_tokens", 0) - read - written)
        total = plain * self.input + usage.get("output_tokens", 0) * self.output
        total += read * (self.input if self.cache_read is None else self.cache_read)
        total += written * (self.input if self.cache_write is None else self.cache_write)
        return (total / MILLION).quantize(EXACT, ROUND_HALF_UP)

    def as_json(self) -> dict[str, str]:
        """The known prices as decimal strings."""
        return {name: str(price) for name, price in asdict(self).items() if price is not None}
