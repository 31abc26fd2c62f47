"""Documents, their immutable extraction versions, and which version is in force."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from coverage.ids import new_id
from coverage.models import Learner


class Document(models.Model):
    """One source file by content: the same bytes under several paths are one document."""

    file_id = models.CharField(primary_key=True, max_length=80, editable=False)  # sha256-<hex of the bytes>
    learner = models.ForeignKey(Learner, on_delete=models.SET_NULL, null=True, blank=True, related_name="documents")
    filename = models.CharField(max_length=500)
    mime = models.CharField(max_length=200)
    size_bytes = models.PositiveBigIntegerField()
    # The version in force. A trigger keeps it a succeeded version of this very document.
    primary = models.ForeignKey(
        "ExtractionVersion", on_delete=models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    added_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-added_at", "file_id")
        indexes = [
            # The documents list in each of its orders.
            models.Index(fields=("-added_at", "file_id"), name="document_by_time"),
            models.Index(Lower("filename"), "file_id", name="document_by_name"),
            models.Index(fields=("-size_bytes", "file_id"), name="document_by_size"),
            # Which media types there are (`library.readers`), and the documents of one.
            models.Index(fields=("mime",), name="document_by_type"),
        ]

    def __str__(self) -> str:
        return self.filename


class DocumentSource(models.Model):
    """A path under which a document's bytes were seen."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="sources")
    path = models.TextField()
    # The document that this path named before, when its bytes changed.
    replaces = models.ForeignKey(Document, on_delete=models.SET_NULL, null=True, blank=True, related_name="replaced_by")
    modified_at = models.DateTimeField(null=True, blank=True)
    # Of the moment, not of the transaction: adds of one path queue up, and the last one is what the path names now.
    seen_at = models.DateTimeField(
        db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()), editable=False
    )

    class Meta:
        ordering = ("seen_at", "id")
        constraints = [
            models.UniqueConstraint(fields=("document", "path"), name="path_once_per_document"),
        ]
        indexes = [
            # "What did this path name before?"
            models.Index(fields=("path", "-seen_at"), name="source_by_path"),
        ]

    def __str__(self) -> str:
        return self.path


class ExtractionVersion(models.Model):
    """One immutable extractor output. A failed one is kept as a row with its reason, without files."""

    class Status(models.TextChoices):
        SUCCEEDED = "succeeded"
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=120, editable=False)  # <slug>-<YYYYMMDDHHMMSS>-<8 hex>
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="versions")
    extractor = models.CharField(max_length=80)
    extractor_version = models.CharField(max_length=40)
    options = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=10, choices=Status)
    text_sha256 = models.CharField(max_length=64, blank=True)
    text_chars = models.PositiveBigIntegerField(default=0)
    manifest_records = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-created_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="failed") | (Q(text_chars__gt=0) & ~Q(text_sha256="")),
                name="succeeded_version_has_text",
            ),
            models.CheckConstraint(condition=Q(status="succeeded") | ~Q(error=""), name="failed_version_says_why"),
            models.CheckConstraint(condition=Q(status__in=("succeeded", "failed")), name="version_status_known"),
        ]
        indexes = [
            # A document's versions, newest first.
            models.Index(fields=("document", "-created_at"), name="version_by_document"),
            # Documents at which an extraction failed.
            models.Index(fields=("document",), condition=Q(status="failed"), name="version_failed"),
        ]

    def __str__(self) -> str:
        return self.id


class Promotion(models.Model):
    """Append-only record of each move of a primary pointer. It outlives the versions it names."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="promotions")
    # Versions of this document when the move was made (a trigger asks); retention may have removed them since.
    before = models.ForeignKey(
        ExtractionVersion, on_delete=models.DO_NOTHING, db_constraint=False, null=True, blank=True, related_name="+"
    )
    after = models.ForeignKey(ExtractionVersion, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    # The earlier move that this one took back; each is taken back once.
    takes_back = models.OneToOneField(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="taken_back_by", editable=False
    )
    actor = models.CharField(max_length=200)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(
        db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()), editable=False
    )

    class Meta:
        ordering = ("-created_at", "id")

    def __str__(self) -> str:
        return f"{self.before_id or '(none)'} → {self.after_id}"


class Removal(models.Model):
    """Append-only record of what was removed from the library on request: a whole document, or versions of one.

    It names the document by its id alone, because it outlives it.
    """

    class What(models.TextChoices):
        DOCUMENT = "document", "the document"
        VERSIONS = "versions", "versions"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    what = models.CharField(max_length=10, choices=What)
    file_id = models.CharField(max_length=80)
    filename = models.CharField(max_length=500)
    # Ids of the versions that went, oldest first.
    versions = models.JSONField(default=list, blank=True)
    # What went with them: {"sources": 1, "outputs": 3, "instances": 12, …}.
    counts = models.JSONField(default=dict, blank=True)
    actor = models.CharField(max_length=200)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-created_at", "id")
        constraints = [
            models.CheckConstraint(condition=Q(what__in=("document", "versions")), name="removal_known"),
            models.CheckConstraint(condition=~Q(actor=""), name="removal_says_who"),
        ]
        indexes = [
            # What became of this document?
            models.Index(fields=("file_id", "-created_at"), name="removal_by_document"),
        ]

    def __str__(self) -> str:
        return f"{self.get_what_display()} of {self.filename}"
