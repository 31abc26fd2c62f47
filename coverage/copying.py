"""Insert many rows by COPY: several times faster than INSERT where a transcript has thousands of messages."""

from collections.abc import Sequence

from django.db import connection
from django.db.models import Model


def copy_rows(rows: Sequence[Model]) -> None:
    """Insert unsaved instances of one model whose primary key the database numbers.

    Every other field must hold a plain value: database defaults and expressions do not apply. The instances get no
    primary key and no signal is sent. Raises what ``bulk_create`` would raise.
    """
    if not rows:
        return
    meta = rows[0]._meta
    fields = [field for field in meta.concrete_fields if not field.primary_key]
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    with connection.cursor() as cursor, connection.wrap_database_errors:
        statement = f"COPY {connection.ops.quote_name(meta.db_table)} ({columns}) FROM STDIN"
        with cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row([field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields])
