"""Bearer tokens of the HTTP API: made, shown once, checked, revoked.

A token reads ``osii_<8 characters>_<43 characters>``. The first part up to the second underscore is its prefix, kept
in the clear; of the whole only the SHA-256 is kept. The secret has 256 random bits, so a fast hash cannot be guessed.
"""

import hashlib
import hmac
import re
import secrets
import string
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from coverage.models import Learner

from .models import ApiToken

DEFAULT_DAYS = 365
MAX_DAYS = 3650
USE_NOTED_EVERY = timedelta(minutes=1)

_ALPHABET = string.ascii_lowercase + string.digits
_SHAPE = re.compile(r"(osii_[a-z0-9]{8})_[A-Za-z0-9_-]{43}", re.ASCII)


class InvalidToken(Exception):
    """The token opens nothing; the text says why, as far as its holder may know."""


def issue(
    *,
    learner: Learner | None = None,
    account: User | None = None,
    name: str = "",
    days: int = DEFAULT_DAYS,
    created_by: object = None,
) -> tuple[ApiToken, str]:
    """Make a token for ``learner``, or for staff without one; returns the row and the token, which is not kept.

    A staff token may what ``account`` may; without an account it may everything.
    ``days`` is its life; 0 means that it does not expire. Raises ValueError for a life that is not allowed.
    """
    staff = learner is None
    row = ApiToken(name=name, learner=learner, staff=staff, account=account, created_by=created_by)
    row.unlimited = staff and account is None
    token = seal(row, days)
    row.save(force_insert=True)
    return row, token


def seal(row: ApiToken, days: int = DEFAULT_DAYS) -> str:
    """Give an unsaved row its secret and its life; returns the token. Raises ValueError for a life that is not allowed."""
    if not 0 <= days <= MAX_DAYS:
        raise ValueError(f"a token lives 1 to {MAX_DAYS} days, or 0 for ever; not {days}")
    row.prefix = "osii_" + "".join(secrets.choice(_ALPHABET) for _ in range(8))
    token = f"{row.prefix}_{secrets.token_urlsafe(32)}"
    row.secret_hash = _hash(token)
    row.expires_at = timezone.now() + timedelta(days=days) if days else None
    return token


def authenticate(token: str) -> ApiToken:
    """The row of a valid token, its use noted at most once a minute. Raises InvalidToken."""
    shape = _SHAPE.fullmatch(token)
    row = ApiToken.objects.select_related("learner", "account").filter(prefix=shape[1]).first() if shape else None
    if row is None or not hmac.compare_digest(row.secret_hash, _hash(token)):
        raise InvalidToken("the token is not known here")
    now = timezone.now()
    if reason := row.refusal(now):
        raise InvalidToken(reason)
    long_ago = now - USE_NOTED_EVERY
    if row.last_used_at is None or row.last_used_at <= long_ago:
        unnoted = ApiToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lte=long_ago), pk=row.pk)
        unnoted.update(last_used_at=now)
    return row


def revoke(token: ApiToken) -> bool:
    """End a token's life now, for good; False when it was revoked before."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()))


def revoke_those_of(account: User) -> int:
    """End the tokens that act for an account which is about to go; how many."""
    return ApiToken.objects.filter(account=account, revoked_at=None).update(revoked_at=timezone.now())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
