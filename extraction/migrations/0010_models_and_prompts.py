"""Language models by name, what each use of one cost, and which instructions read a batch."""

import coverage.ids
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from coverage.guards import guard, guard_truncate

# What batches recorded before: llm-1/<prompt>/<model>, or the version of a worker without a prompt.
KNOWN_PROMPTS = """
UPDATE extraction_batch SET prompt_version = CASE
    WHEN worker = 'llm' THEN split_part(worker_version, '/', 2) ELSE worker_version END
WHERE worker_version <> '';
"""


class Migration(migrations.Migration):
    dependencies = [
        ("coverage", "0004_firmer_guards"),
        ("extraction", "0009_resolutions"),
    ]

    operations = [
        migrations.CreateModel(
            name="LanguageModel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="What runs, commands and the API call it: extract_chats --worker llm --model NAME.",
                        max_length=40,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9][a-z0-9._-]*$",
                                "Use lower-case letters, digits, dots, dashes and underscores.",
                            )
                        ],
                    ),
                ),
                (
                    "provider",
                    models.CharField(
                        choices=[("openai", "OpenAI-compatible"), ("anthropic", "Anthropic")],
                        default="openai",
                        max_length=10,
                    ),
                ),
                (
                    "model",
                    models.CharField(
                        help_text="The model's name, as the endpoint knows it.", max_length=200, verbose_name="model id"
                    ),
                ),
                (
                    "base_url",
                    models.CharField(
                        blank=True,
                        help_text="Of your own or another server; left empty, the provider's own. No user name or password in it.",
                        max_length=500,
                        verbose_name="address",
                    ),
                ),
                (
                    "key_variable",
                    models.CharField(
                        blank=True,
                        help_text="The environment variable that holds the key. The key itself is never stored.",
                        max_length=80,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Z][A-Z0-9_]*_API_KEY$",
                                "Name a variable that ends in _API_KEY, in capital letters.",
                            )
                        ],
                        verbose_name="variable of the key",
                    ),
                ),
                (
                    "timeout_seconds",
                    models.PositiveIntegerField(
                        default=120,
                        help_text="Of one request.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(3600),
                        ],
                    ),
                ),
                (
                    "max_requests",
                    models.PositiveIntegerField(
                        default=60,
                        help_text="Requests of one batch, repeated ones included.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                    ),
                ),
                (
                    "max_tool_calls",
                    models.PositiveIntegerField(
                        default=200,
                        help_text="Tool calls of one batch.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(5000),
                        ],
                    ),
                ),
                (
                    "max_tokens",
                    models.PositiveIntegerField(
                        default=200000,
                        help_text="Tokens in and out of one batch.",
                        validators=[
                            django.core.validators.MinValueValidator(1000),
                            django.core.validators.MaxValueValidator(100000000),
                        ],
                    ),
                ),
                (
                    "batch_seconds",
                    models.PositiveIntegerField(
                        default=900,
                        help_text="One batch.",
                        validators=[
                            django.core.validators.MinValueValidator(10),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                    ),
                ),
                (
                    "price_input",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Per million tokens in. Empty: not known; 0: free.",
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "price_output",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Per million tokens out.",
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "price_cache_read",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Per million tokens read from the provider's cache. Empty: as other tokens in.",
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "price_cache_write",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Per million tokens written to it. Empty: as other tokens in.",
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "default",
                    models.BooleanField(default=False, help_text="Used where no model is named, before OSII_LLM_*."),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="ModelUse",
            fields=[
                (
                    "id",
                    models.UUIDField(default=coverage.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("run", models.UUIDField()),
                ("attempt", models.PositiveIntegerField()),
                ("agent", models.CharField(max_length=40)),
                ("model", models.JSONField()),
                ("usage", models.JSONField()),
                ("cost", models.DecimalField(blank=True, decimal_places=6, max_digits=18, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "ordering": ("created_at", "id"),
            },
        ),
        migrations.AddField(
            model_name="batch",
            name="model",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="batch",
            name="prompt_hash",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="batch",
            name="prompt_version",
            field=models.CharField(blank=True, default="", max_length=80),
        ),
        migrations.AddField(
            model_name="run",
            name="model",
            field=models.CharField(blank=True, default="", max_length=40),
        ),
        migrations.AddIndex(
            model_name="batch",
            index=models.Index(fields=["worker", "prompt_version", "prompt_hash"], name="batch_by_prompt"),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("default", True)),
                fields=("default",),
                name="one_default_model",
                violation_error_message="Another model is the default. Take that from it first.",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("name__regex", "^[a-z0-9][a-z0-9._-]*$"), models.Q(("name", "environment"), _negated=True)
                ),
                name="model_name_plain",
                violation_error_message="The name 'environment' is taken by the model that OSII_LLM_* sets up.",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("provider__in", ("openai", "anthropic"))), name="model_provider_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(condition=models.Q(("model", ""), _negated=True), name="model_has_id"),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("base_url", ""), ("base_url__regex", "^https?://[^/?#@\\s]+([/?#]\\S*)?$"), _connector="OR"
                ),
                name="model_address_plain",
                violation_error_message="The address must start with http:// or https:// and hold no credentials.",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("key_variable", ""), ("key_variable__regex", "^[A-Z][A-Z0-9_]*_API_KEY$"), _connector="OR"
                ),
                name="model_key_is_a_variable",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("timeout_seconds__range", (1, 3600)),
                    ("max_requests__range", (2, 1000)),
                    ("max_tool_calls__range", (2, 5000)),
                    ("max_tokens__range", (1000, 100000000)),
                    ("batch_seconds__range", (10, 86400)),
                ),
                name="model_limits_in_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("price_input__isnull", True), ("price_input__gte", 0), _connector="OR"),
                    models.Q(("price_output__isnull", True), ("price_output__gte", 0), _connector="OR"),
                    models.Q(("price_cache_read__isnull", True), ("price_cache_read__gte", 0), _connector="OR"),
                    models.Q(("price_cache_write__isnull", True), ("price_cache_write__gte", 0), _connector="OR"),
                ),
                name="model_prices_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("price_input__isnull", True), ("price_output__isnull", True)),
                    models.Q(("price_input__isnull", False), ("price_output__isnull", False)),
                    _connector="OR",
                ),
                name="model_has_both_prices",
                violation_error_message="Give the prices of tokens in and out, or neither.",
            ),
        ),
        migrations.AddField(
            model_name="modeluse",
            name="batch",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="uses", to="extraction.batch"
            ),
        ),
        migrations.AddIndex(
            model_name="modeluse",
            index=models.Index(fields=["run"], name="use_by_run"),
        ),
        migrations.AddIndex(
            model_name="modeluse",
            index=models.Index(fields=["created_at"], name="use_by_time"),
        ),
        migrations.AddConstraint(
            model_name="modeluse",
            constraint=models.CheckConstraint(
                condition=models.Q(("cost__isnull", True), ("cost__gte", 0), _connector="OR"),
                name="use_cost_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="modeluse",
            constraint=models.CheckConstraint(condition=models.Q(("agent", ""), _negated=True), name="use_names_agent"),
        ),
        guard("extraction_modeluse"),
        guard_truncate("extraction_modeluse"),
        migrations.RunSQL(KNOWN_PROMPTS, migrations.RunSQL.noop),
    ]
