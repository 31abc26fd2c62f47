"""Outputs: what was made of one extraction version by one method. Kept per extraction, never rewritten."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Length, Now
from pgvector.django import VectorField

from coverage.ids import new_id
from extraction.models import Document, ExtractionVersion
from graphctx.models import EmbeddingSpace


def options_hash(options: Mapping[str, Any]) -> str:
    """128-bit blake2b of the options as canonical JSON, in hexadecimal: equal options have equal hashes."""
    content = json.dumps(options, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class OutputKind(models.TextChoices):
    CHUNKS = "chunks", "chunks"
    EMBEDDINGS = "embeddings", "embeddings"
    SYNTHESIS = "synthesis", "synthesis"
    ENRICHMENT = "enrichment", "enrichment"
    PROPOSITIONS = "propositions", "propositions"


class Output(models.Model):
    """What one method made of one extraction version, or why it could not. Immutable.

    Whether it is current is never stored: see osii.library.staleness.
    """

    class Status(models.TextChoices):
        SUCCEEDED = "succeeded"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="outputs")
    source_extraction = models.ForeignKey(ExtractionVersion, on_delete=models.CASCADE, related_name="outputs")
    kind = models.CharField(max_length=12, choices=OutputKind)
    method = models.CharField(max_length=80)
    method_version = models.CharField(max_length=40)
    # Every option with its value, and their hash: what is compared.
    options = models.JSONField(default=dict, blank=True)
    options_hash = models.CharField(max_length=32)
    # Of the prompt and the model that read it; blank where there is none.
    prompt_version = models.CharField(max_length=120, blank=True)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    status = models.CharField(max_length=10, choices=Status)
    # "name: what happened", when it failed.
    error = models.TextField(blank=True)
    text = models.TextField(blank=True)
    content = models.JSONField(default=dict, blank=True)
    # What was made, in numbers: {"chunks": 12, "characters": 10400}.
    counts = models.JSONField(default=dict, blank=True)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-created_at", "id")
        constraints = [
            models.UniqueConstraint(
                # In this order the index answers which extractions have an output as it is wanted, for all documents.
                fields=(
                    "kind", "method", "method_version", "options_hash", "prompt_version", "space", "source_extraction",
                ),
                condition=Q(status="succeeded"),
                name="output_once_per_source",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(kind__in=OutputKind.values), name="output_kind_known"),
            models.CheckConstraint(condition=Q(status__in=("succeeded", "failed")), name="output_status_known"),
            models.CheckConstraint(
                condition=Q(status="succeeded", error="") | (Q(status="failed") & ~Q(error="")),
                name="failed_output_says_why",
            ),
            models.CheckConstraint(
                condition=~Q(kind="embeddings", status="succeeded") | Q(space__isnull=False),
                name="embeddings_are_of_a_space",
            ),
        ]  # fmt: skip
        indexes = [
            # The outputs of one document, and the planner's comparison of every document with what it should have.
            models.Index(fields=("document", "kind", "method", "status"), name="output_by_document"),
            models.Index(fields=("kind", "method", "status", "document"), name="output_by_method"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.method} of {self.source_extraction_id}"

    @property
    def reason(self) -> str:
        """The short name of a failure; empty when it succeeded."""
        return self.error.partition(":")[0]


class Making(models.Model):
    """One way in which outputs were made: all by which an output is as it is wanted, or not. Immutable.

    Makings, sets of them and the memos of versions are written by triggers of ``osii_output`` alone: what a plan over all
    of the library would otherwise collect from several outputs of each document. Outputs decide; `invariants` compares.
    """

    kind = models.CharField(max_length=12)
    method = models.CharField(max_length=80)
    method_version = models.CharField(max_length=40)
    options_hash = models.CharField(max_length=32)
    prompt_version = models.CharField(max_length=120, blank=True)
    # The id of an embedding space, which may be gone by now.
    space = models.UUIDField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("kind", "method", "method_version", "options_hash", "prompt_version", "space"),
                name="making_once",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.method} {self.method_version}"


class MakingSet(models.Model):
    """Makings that some version had outputs of, at some time: ids in ascending order. Few for many versions. Immutable."""

    makings = ArrayField(models.BigIntegerField(), unique=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return ", ".join(map(str, self.makings))


class Made(models.Model):
    """The makings of all succeeded outputs of one extraction version; no row where there is none."""

    extraction = models.OneToOneField(
        ExtractionVersion, on_delete=models.DO_NOTHING, db_constraint=False, primary_key=True, related_name="+"
    )
    # A set never goes, and a constraint would lock the one that most versions have, each time.
    making_set = models.ForeignKey(
        MakingSet, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )

    class Meta:
        verbose_name_plural = "made"
        ordering = ("extraction",)

    def __str__(self) -> str:
        return f"{self.extraction_id}: {self.making_set_id}"


class Chunk(models.Model):
    """A piece of an extraction's text, exactly as it stands there from ``char_start`` to ``char_end`` (code points)."""

    output = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="chunks")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="chunks")
    source_extraction = models.ForeignKey(ExtractionVersion, on_delete=models.CASCADE, related_name="chunks")
    # chunk-<file_id>-<6 digits>: the same in each output of a document, so it is unique within one output only.
    chunk_id = models.CharField(max_length=110)
    chunk_index = models.PositiveIntegerField()
    char_start = models.PositiveBigIntegerField()
    char_end = models.PositiveBigIntegerField()
    text = models.TextField()
    source_segment_ids = ArrayField(models.CharField(max_length=80), default=list)
    source_pages = ArrayField(models.PositiveIntegerField(), default=list)
    previous_chunk_id = models.CharField(max_length=110, null=True, blank=True)  # noqa: DJ001 - null in the manifest
    next_chunk_id = models.CharField(max_length=110, null=True, blank=True)  # noqa: DJ001
    # "en", "de", …; "und" where it cannot be told.
    language = models.CharField(max_length=8, default="und")
    # Made by the database in the insert itself, so that no index is ever behind: the text search configuration of the
    # language, and the words of the text as it stems them.
    search_config = models.GeneratedField(
        expression=Func(F("language"), function="osii_search_config"),
        output_field=models.CharField(max_length=63),
        db_persist=True,
    )
    terms = models.GeneratedField(
        expression=Func(F("language"), F("text"), function="osii_chunk_terms"),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        ordering = ("output", "chunk_index")
        constraints = [
            models.UniqueConstraint(fields=("output", "chunk_index"), name="chunk_once_per_output"),
            models.CheckConstraint(condition=Q(char_end__gt=F("char_start")), name="chunk_span_not_empty"),
            models.CheckConstraint(
                condition=Q(char_end=F("char_start") + Length("text")), name="chunk_span_is_as_long_as_its_text"
            ),
        ]
        indexes = [
            # A chunk by its id, from a search result or a link.
            models.Index(fields=("document", "chunk_index"), name="chunk_by_document"),
            GinIndex(fields=("terms",), name="chunk_terms"),
        ]

    def __str__(self) -> str:
        return self.chunk_id


class ChunkVector(models.Model):
    """A chunk's vector in one space, unit length, float32."""

    output = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, related_name="chunk_vectors")
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="vectors")
    embedding = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("space", "chunk"), name="one_vector_per_space_and_chunk"),
        ]

    def __str__(self) -> str:
        return f"vector of chunk {self.chunk_id} in {self.space_id}"


class OutputSetting(models.Model):
    """Which method of a kind is the library's choice, and its options where they are not the method's own defaults."""

    kind = models.CharField(max_length=12, choices=OutputKind)
    method = models.CharField(max_length=80)
    options = models.JSONField(default=dict, blank=True, help_text="Only what differs from the method's defaults.")
    chosen = models.BooleanField(default=False, help_text="Used where no method is named.")

    class Meta:
        ordering = ("kind", "method")
        constraints = [
            models.UniqueConstraint(fields=("kind", "method"), name="one_setting_per_method"),
            models.UniqueConstraint(
                fields=("kind",),
                condition=Q(chosen=True),
                name="one_chosen_method_per_kind",
                violation_error_message="Another method of this kind is chosen. Take that from it first.",
            ),
            models.CheckConstraint(condition=Q(kind__in=OutputKind.values), name="setting_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.method}"
