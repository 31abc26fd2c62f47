"""Which model is meant by a name: the one of ``OSII_LLM_*``, called "environment", or one that the admin holds.

A key is looked up in the environment when it is used, and goes into a header; it is in no row, no snapshot and no repr.
"""

import os
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from extraction.models import LanguageModel
from extraction.models.language import ENVIRONMENT
from extraction.workers import WorkerUnavailable

from .endpoint import DEFAULT_URLS, Endpoint
from .limits import Limits
from .prices import Prices

LIMITS = ("timeout_seconds", "max_requests", "max_tool_calls", "max_tokens", "batch_seconds")
PRICES = ("price_input", "price_output", "price_cache_read", "price_cache_write")


class UnknownModel(WorkerUnavailable):
    """No model has this name."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One model as it is set up now. ``limits`` by the names in LIMITS, ``prices`` in PRICES."""

    name: str
    provider: str
    model: str
    base_url: str
    key_variable: str
    limits: dict[str, int]
    prices: Prices
    key: str = field(repr=False)

    def missing(self) -> str:
        """What is not set up that the model needs; empty when nothing is."""
        if self.key_variable and not self.key and self.name != ENVIRONMENT:
            return f"the variable {self.key_variable} is not set where the workers run"
        if not self.base_url and not self.key:
            where = DEFAULT_URLS[self.provider]
            if self.name == ENVIRONMENT:
                return f"the llm worker needs OSII_LLM_API_KEY for {where}, or OSII_LLM_BASE_URL of your own server"
            return f"{where} needs a key; name its variable, or the address of your own server"
        return ""

    def endpoint(self) -> Endpoint:
        """Where the model is. Raises WorkerUnavailable that says what is missing."""
        if missing := self.missing():
            raise WorkerUnavailable(missing if self.name == ENVIRONMENT else f"the model {self.name!r}: {missing}")
        return Endpoint(
            provider=self.provider,
            url=self.base_url or DEFAULT_URLS[self.provider],
            model=self.model,
            seconds=self.limits["timeout_seconds"],
            key=self.key,
            name=self.name,
            key_variable=self.key_variable,
        )

    def batch_limits(self) -> Limits:
        """The limits of one batch, counted from now on."""
        _, requests, tool_calls, tokens, seconds = (self.limits[name] for name in LIMITS)
        return Limits(requests, tool_calls, tokens, seconds, label=self.name)

    def snapshot(self) -> dict[str, Any]:
        """The set-up as JSON, without the key, and of the address only host and port."""
        place = self.endpoint().place
        return {
            "name": self.name,
            "provider": self.provider,
            "model": self.model,
            "place": place,
            "limits": self.limits,
            "prices": self.prices.as_json(),
        }


def choose(name: str = "") -> ModelChoice:
    """The model of this name; without one the default, which is a row's or else OSII_LLM_*.

    Raises UnknownModel that names the known ones, and WorkerUnavailable when nothing is set up at all.
    """
    if name == ENVIRONMENT:
        return _environment()
    rows = LanguageModel.objects.filter(name=name) if name else LanguageModel.objects.filter(default=True)
    row = rows.first()
    if row is not None:
        return _named(row)
    if name:
        raise UnknownModel(f"there is no model {name!r}; known: {', '.join(model_names()) or 'none'}")
    return _environment()


def model_names() -> list[str]:
    """The models that may be named, by name; "environment" is one when OSII_LLM_MODEL is set."""
    first = [ENVIRONMENT] if settings.OSII_LLM_MODEL else []
    return [*first, *LanguageModel.objects.order_by("name").values_list("name", flat=True)]


def _environment() -> ModelChoice:
    if not settings.OSII_LLM_MODEL:
        raise WorkerUnavailable(
            "the llm worker needs a model: set OSII_LLM_MODEL, and OSII_LLM_BASE_URL for your own server or "
            "OSII_LLM_API_KEY for a hosted one (OSII_LLM_PROVIDER is openai or anthropic), or add one in the admin"
        )
    return ModelChoice(
        name=ENVIRONMENT,
        provider=settings.OSII_LLM_PROVIDER,
        model=settings.OSII_LLM_MODEL,
        base_url=settings.OSII_LLM_BASE_URL,
        key_variable="OSII_LLM_API_KEY",
        limits={name: getattr(settings, f"OSII_LLM_{name.upper()}") for name in LIMITS},
        prices=Prices(*(getattr(settings, f"OSII_LLM_{name.upper()}") for name in PRICES)),
        key=settings.OSII_LLM_API_KEY,
    )


def _named(row: LanguageModel) -> ModelChoice:
    return ModelChoice(
        name=row.name,
        provider=row.provider,
        model=row.model,
        base_url=row.base_url,
        key_variable=row.key_variable,
        limits={name: getattr(row, name) for name in LIMITS},
        prices=Prices(*(getattr(row, name) for name in PRICES)),
        key=os.environ.get(row.key_variable, "").strip() if row.key_variable else "",
    )
