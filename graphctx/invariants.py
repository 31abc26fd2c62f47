"""What must always hold of vectors, links and steers; each violation is one line of text."""

from collections.abc import Iterator

from django.db import connection

from coverage.view import count_tokens

from .evidence import stand
from .link_invariants import check_links
from .models import Instance, Steer
from .selection import MAX_LINES
from .steers import steer_id

FOREIGN_VECTORS = """
SELECT v.id, v.proposition_id FROM graphctx_propositionvector v
JOIN graphctx_proposition p ON p.id = v.proposition_id WHERE v.learner_id <> p.learner_id
"""
MISSHAPEN_VECTORS = """
SELECT v.proposition_id, s.name, s.dimension, vector_dims(v.embedding), vector_norm(v.embedding)
FROM graphctx_propositionvector v JOIN graphctx_embeddingspace s ON s.id = v.space_id
WHERE vector_dims(v.embedding) <> s.dimension OR abs(vector_norm(v.embedding) - 1) > 0.001
"""
# Triggers keep these apart as rows come in; a steer names propositions in JSON, which no trigger reads.
FOREIGN_EVIDENCE = """
SELECT i.id, i.proposition_id FROM graphctx_instance i JOIN graphctx_proposition p ON p.id = i.proposition_id
JOIN coverage_chat c ON c.id = i.chat_id WHERE c.learner_id <> p.learner_id
"""
FOREIGN_LINES = """
SELECT s.chat_id, p.id FROM graphctx_steer s JOIN coverage_chat c ON c.id = s.chat_id
CROSS JOIN LATERAL jsonb_array_elements(s.items) line JOIN graphctx_proposition p ON p.id::text = line->>'proposition_id'
WHERE p.learner_id <> c.learner_id
"""


def check() -> Iterator[str]:
    """Violations of graph context: whose vectors they are and of what shape, what steers hold, how propositions are linked."""
    with connection.cursor() as cursor:
        cursor.execute(FOREIGN_VECTORS)
        for vector, proposition in cursor.fetchall():
            yield f"vector {vector}: its learner is not that of its proposition {proposition}"
        cursor.execute(MISSHAPEN_VECTORS)
        for proposition, space, dimension, found, length in cursor.fetchall():
            yield (
                f"proposition {proposition}: its vector in {space} has {found} dimensions and length {length:.4f}, "
                f"not {dimension} and 1"
            )
        cursor.execute(FOREIGN_EVIDENCE)
        for instance, proposition in cursor.fetchall():
            yield f"instance {instance}: its chat is of another learner than its proposition {proposition}"
        cursor.execute(FOREIGN_LINES)
        for chat, proposition in cursor.fetchall():
            yield f"steer of chat {chat}: it offers proposition {proposition} of another learner"
    yield from _live()
    yield from check_links()
    for steer in Steer.objects.iterator(chunk_size=500):
        yield from _steer(steer)


def _live() -> Iterator[str]:
    """Instances whose ``live`` is not what a look at their chat says."""
    in_chats = Instance.objects.filter(chat__isnull=False)
    for chat_id in in_chats.order_by().values_list("chat", flat=True).distinct():
        instances = list(in_chats.filter(chat=chat_id))
        for instance, stands in zip(instances, stand(chat_id, instances), strict=True):
            if instance.live != stands:
                yield (
                    f"chat {chat_id}, message {instance.message_id}: evidence {instance.pk} is stored as "
                    f"{'live' if instance.live else 'not live'}, but its quote {'stands' if stands else 'is gone'}"
                )


def _steer(steer: Steer) -> Iterator[str]:
    where = f"steer of chat {steer.chat_id}"
    if steer.pk != steer_id(steer.chat_id):
        yield f"{where}: its id does not follow from the chat's"
    if steer.tokens != count_tokens(steer.text) or steer.tokens > steer.budget:
        yield f"{where}: {steer.tokens} tokens stored, {count_tokens(steer.text)} in its text, {steer.budget} allowed"
    if steer.count != len(steer.items) or steer.count > MAX_LINES:
        yield f"{where}: {steer.count} lines stored, {len(steer.items)} kept, {MAX_LINES} allowed"
    if steer.status in (Steer.Status.READY, Steer.Status.OFFERED, Steer.Status.DELIVERED) and not steer.text:
        yield f"{where}: {steer.status}, but there is no text"
