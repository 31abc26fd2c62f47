"""Collections: made, renamed, deleted, and documents put into them and taken out. Documents themselves stay as they are."""

from django.core.exceptions import EmptyResultSet
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from extraction.models import Document
from osii.models import Collection, CollectionDocument


class NameTaken(Exception):
    """There is a collection of this name already."""


def create(name: str, by: object) -> Collection:
    """Raises NameTaken."""
    try:
        with transaction.atomic():
            return Collection.objects.create(name=name, created_by=by)
    except IntegrityError:
        raise NameTaken(name) from None


def rename(collection: Collection, name: str) -> None:
    """Raises NameTaken."""
    try:
        with transaction.atomic():
            Collection.objects.filter(pk=collection.pk).update(name=name)
    except IntegrityError:
        raise NameTaken(name) from None


def add(collection: Collection, documents: QuerySet[Document]) -> int:
    """Put documents into a collection in one statement; returns how many were not in it."""
    try:
        sql, parameters = documents.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:  # Django knows without asking that there are none
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {CollectionDocument._meta.db_table} (collection_id, document_id) "
            f"SELECT %s, chosen.file_id FROM ({sql}) chosen (file_id) ON CONFLICT DO NOTHING",
            [collection.pk, *parameters],
        )
        return cursor.rowcount


def held(collection: Collection, documents: QuerySet[Document]) -> QuerySet[CollectionDocument]:
    """The entries of those of the documents that are in the collection."""
    return CollectionDocument.objects.filter(collection=collection, document__in=documents.order_by().values("pk"))


def remove(collection: Collection, documents: QuerySet[Document]) -> int:
    """Take documents out of a collection; returns how many were in it."""
    return held(collection, documents).delete()[0]
