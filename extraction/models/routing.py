"""Which extractor reads which files."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from ..documents.errors import ExtractorRefused
from ..documents.extractors import registry


class ExtractorRule(models.Model):
    """One row of the ordered table: files of this type and name go to this extractor, then to the next row's."""

    order = models.PositiveIntegerField(help_text="lower comes first; the later rows that fit are tried when it fails")
    # Patterns with * and ?, of the media type and of the file's name.
    media_type = models.CharField(max_length=200, help_text="the type, or a pattern such as image/*; small letters")
    name_pattern = models.CharField(
        max_length=200, default="*", help_text="a pattern for the file's name, such as *.log; small letters"
    )
    extractor = models.CharField(max_length=80)
    options = models.JSONField(default=dict, blank=True, help_text="what differs from the extractor's own settings")
    enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ("order", "id")
        constraints = [
            models.CheckConstraint(condition=~Q(media_type="") & ~Q(name_pattern=""), name="rule_has_patterns"),
            models.CheckConstraint(condition=~Q(extractor=""), name="rule_names_extractor"),
            models.UniqueConstraint(fields=("media_type", "name_pattern", "extractor", "options"), name="rule_once"),
        ]

    def __str__(self) -> str:
        name = "" if self.name_pattern == "*" else f", {self.name_pattern}"
        return f"{self.media_type}{name} → {self.extractor}"

    def clean(self) -> None:
        """Raises ValidationError for an extractor that is not installed, and for options that it does not have."""
        extractor = registry.extractors().get(self.extractor)
        if extractor is None:
            known = ", ".join(registry.extractors())
            raise ValidationError({"extractor": f"there is no extractor {self.extractor!r} (known: {known})"})
        if not isinstance(self.options, dict):
            raise ValidationError({"options": 'an object, such as {"encoding": "utf-8"}'})
        for field in ("media_type", "name_pattern"):
            if getattr(self, field) != getattr(self, field).lower():
                raise ValidationError({field: "in small letters: types and names are compared in small letters"})
        try:
            extractor.resolve(self.options)
        except ExtractorRefused as refusal:
            raise ValidationError({"options": str(refusal)}) from None
