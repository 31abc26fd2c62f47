"""Language models by name, set up in the admin, and what each use of one cost."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from coverage.ids import new_id

from .chats import Batch

NAME = r"^[a-z0-9][a-z0-9._-]*$"
KEY_VARIABLE = r"^[A-Z][A-Z0-9_]*_API_KEY$"
"""Only such variables are ever read: a name in a row must not be able to send another secret to an endpoint."""
ENVIRONMENT = "environment"
"""The name of the model that ``OSII_LLM_*`` sets up; no row may take it."""


def _whole(default: int, least: int, most: int, text: str) -> models.PositiveIntegerField:
    return models.PositiveIntegerField(
        default=default, validators=[MinValueValidator(least), MaxValueValidator(most)], help_text=text
    )


def _price(text: str) -> models.DecimalField:
    return models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(0)], help_text=text
    )


class LanguageModel(models.Model):
    """One model that may read chats, chosen by its name. Its key is not here: the row names the variable that holds it."""

    class Provider(models.TextChoices):
        OPENAI = "openai", "OpenAI-compatible"
        ANTHROPIC = "anthropic", "Anthropic"

    name = models.CharField(
        max_length=40,
        unique=True,
        validators=[RegexValidator(NAME, "Use lower-case letters, digits, dots, dashes and underscores.")],
        help_text="What runs, commands and the API call it: extract_chats --worker llm --model NAME.",
    )
    provider = models.CharField(max_length=10, choices=Provider, default=Provider.OPENAI)
    model = models.CharField("model id", max_length=200, help_text="The model's name, as the endpoint knows it.")
    base_url = models.CharField(
        "address",
        max_length=500,
        blank=True,
        help_text="Of your own or another server; left empty, the provider's own. No user name or password in it.",
    )
    key_variable = models.CharField(
        "variable of the key",
        max_length=80,
        blank=True,
        validators=[RegexValidator(KEY_VARIABLE, "Name a variable that ends in _API_KEY, in capital letters.")],
        help_text="The environment variable that holds the key. The key itself is never stored.",
    )
    timeout_seconds = _whole(120, 1, 3600, "Of one request.")
    max_requests = _whole(60, 2, 1000, "Requests of one batch, repeated ones included.")
    max_tool_calls = _whole(200, 2, 5000, "Tool calls of one batch.")
    max_tokens = _whole(200_000, 1000, 100_000_000, "Tokens in and out of one batch.")
    batch_seconds = _whole(900, 10, 86_400, "One batch.")
    price_input = _price("Per million tokens in. Empty: not known; 0: free.")
    price_output = _price("Per million tokens out.")
    price_cache_read = _price("Per million tokens read from the provider's cache. Empty: as other tokens in.")
    price_cache_write = _price("Per million tokens written to it. Empty: as other tokens in.")
    default = models.BooleanField(default=False, help_text="Used where no model is named, before OSII_LLM_*.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                fields=("default",),
                condition=Q(default=True),
                name="one_default_model",
                violation_error_message="Another model is the default. Take that from it first.",
            ),
            models.CheckConstraint(
                condition=Q(name__regex=NAME) & ~Q(name=ENVIRONMENT),
                name="model_name_plain",
                violation_error_message=f"The name {ENVIRONMENT!r} is taken by the model that OSII_LLM_* sets up.",
            ),
            models.CheckConstraint(condition=Q(provider__in=("openai", "anthropic")), name="model_provider_known"),
            models.CheckConstraint(condition=~Q(model=""), name="model_has_id"),
            # No credentials before the host: they would be shown with the address.
            models.CheckConstraint(
                condition=Q(base_url="") | Q(base_url__regex=r"^https?://[^/?#@\s]+([/?#]\S*)?$"),
                name="model_address_plain",
                violation_error_message="The address must start with http:// or https:// and hold no credentials.",
            ),
            models.CheckConstraint(
                condition=Q(key_variable="") | Q(key_variable__regex=KEY_VARIABLE), name="model_key_is_a_variable"
            ),
            models.CheckConstraint(
                condition=Q(timeout_seconds__range=(1, 3600))
                & Q(max_requests__range=(2, 1000))
                & Q(max_tool_calls__range=(2, 5000))
                & Q(max_tokens__range=(1000, 100_000_000))
                & Q(batch_seconds__range=(10, 86_400)),
                name="model_limits_in_range",
            ),
            models.CheckConstraint(
                condition=(Q(price_input__isnull=True) | Q(price_input__gte=0))
                & (Q(price_output__isnull=True) | Q(price_output__gte=0))
                & (Q(price_cache_read__isnull=True) | Q(price_cache_read__gte=0))
                & (Q(price_cache_write__isnull=True) | Q(price_cache_write__gte=0)),
                name="model_prices_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(price_input__isnull=True, price_output__isnull=True)
                | Q(price_input__isnull=False, price_output__isnull=False),
                name="model_has_both_prices",
                violation_error_message="Give the prices of tokens in and out, or neither.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        from extraction.llm.addresses import check_address  # models load before what uses them

        if self.base_url:
            check_address(self.base_url)


class ModelUse(models.Model):
    """What one attempt at a batch, or one synthesis, used of a model, and its price then. Append-only: costs are sums of these lines."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # None for what is no reading: a synthesis of a document.
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, null=True, blank=True, related_name="uses")
    # A batch that is tried again changes its run; what it cost before stays with the run that spent it. Without a run, the
    # batch's own id, or one of its own.
    run = models.UUIDField()
    attempt = models.PositiveIntegerField()
    # A name of extraction.exploring.features: who talked to the model.
    agent = models.CharField(max_length=40)
    # The model as it was set up, without its key: see extraction.llm.choice.ModelChoice.snapshot.
    model = models.JSONField()
    # {"requests", "retries", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"}
    usage = models.JSONField()
    # In the currency of the prices; null where these are not known.
    cost = models.DecimalField(max_digits=18, decimal_places=6, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("created_at", "id")
        constraints = [
            models.CheckConstraint(condition=Q(cost__isnull=True) | Q(cost__gte=0), name="use_cost_not_negative"),
            models.CheckConstraint(condition=~Q(agent=""), name="use_names_agent"),
        ]
        indexes = [
            # What a run spent (its cap), and everything in a day (the daily cap).
            models.Index(fields=("run",), name="use_by_run"),
            models.Index(fields=("created_at",), name="use_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.agent} with {self.model.get('name', '?')}"
