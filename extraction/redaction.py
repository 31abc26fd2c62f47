"""Secrets in a text: keys, tokens, private keys, passwords in addresses and settings, and card numbers.

Found by the library ``redact-secret`` (known formats, checked; deterministic, offline, one pass). It knows no card numbers
and no prose, so a few patterns of ours come on top. A secret is covered character by character: spans and lengths
stay right. Samples from documentation, hashes and identifiers are left alone.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import redact_secret

from graphctx.fence import cover

SECRET_MASK = "\N{FULL BLOCK}"

_LIMITS = redact_secret.WholeInputLimits(max_input_bytes=2**31, max_findings=2**31)
# The library looks for the end of a web token from every beginning of one; nothing real begins that often.
_WEB_TOKEN = "eyJ"
_LONG_RUN = re.compile(r"[\w-]{256,}+", re.ASCII)
_MANY = 8
_ESCAPED = re.compile(r"(?<!\\)\\++(?:[\"'nrt/]|u(?P<code>[0-9a-fA-F]{4}))")
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}

_BREAK = r"(?:\s|\\++[nrt])"
_FORMATS = re.compile(
    # A private key of any kind, also without its end.
    rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----{_BREAK}*+(?:[A-Za-z0-9+/]{{40,}}+={{0,2}}{_BREAK}*+)++"
    rf"(?:[A-Za-z0-9+/=]++{_BREAK}*+)?(?:-----END [A-Z0-9 ]{{0,40}}-----)?"
    r"|\bAGE-SECRET-KEY-1[A-Z0-9]{40,80}\b"
    r"|\bSK[0-9a-f]{32}\b"
    r"|\bhttps://hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}"
    r"|\bhttps://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{10,}/[\w-]{30,}",
)
_SAID = re.compile(
    r"(?:\b(?:(?P<key>(?:api|access|secret|auth)[ _-]?(?:key|token|schlüssel)|token)"
    r"|pass(?:word|wort|phrase|code)|kennwort|passwd|pwd|contraseña|mot de passe|senha|parola|wachtwoord|пароль)"
    r"|(?P<cjk>密码|密碼|パスワード|비밀번호))"
    r"(?:\s*+(?:is|was|ist|war|lautet|es|est|é|è|now|:|=|=>|：|は|是|는|은)\s*+){1,2}[\"'`“„«]?(?P<value>[^\s\"'`”“»,;，。、]{6,200})",
    re.IGNORECASE,
)
_OWN_WORDS = re.compile(
    r"your|example|sample|dummy|changeme|placeholder|redacted|x{4,}|\*{3,}|\.{3}|[<>{}()\[\]$%|\\█░]", re.I
)
_NOT_RANDOM = re.compile(
    r"\d+[-–]?[a-z]*|[a-z]+|\w*\d\w*-[a-z]+|[a-z]+(?:-[a-z]+)+|\d[\d.,:/-]*|(?:sha|md|aes|rsa|base|utf|argon)-?\d\w*",
    re.I,
)
_KEY_LENGTH = 16

_CARD = re.compile(
    r"(?<![\d.,])(?<!\d[ -])(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}|\d{4}([ -]?)\d{6}\2\d{5})(?![ -]?\d|[.,]\d)"
)
_ISSUERS = re.compile(
    r"(?:4\d{3}|5[1-5]\d{2}|2(?:22[1-9]|2[3-9]\d|[3-6]\d{2}|7[01]\d|720)|6(?:011|5\d{2}|4[4-9]\d)|35(?:2[89]|[3-8]\d)|62\d{2})\d{12}"
    r"|3[47]\d{13}"
)


def redact(text: str) -> str:
    """``text`` with every secret in it covered, character by character."""
    spans = secret_spans(text)
    return cover(text, spans, SECRET_MASK) if spans else text


def secret_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each secret in the text; they may overlap."""
    if "\\" not in text:
        return _spans(text)
    bare = _Unescaped(text)
    return [(bare.place(start), bare.place(end)) for start, end in _spans(bare.text)]


def _spans(text: str) -> list[tuple[int, int]]:
    return [*_known_formats(text), *_said(text), *_cards(text)]


class _Unescaped:
    """A text without the escapes of JSON, however often it was written as JSON, and where its places stand in the original."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._bare, self._original = [0], [0]
        at = length = 0
        for match in _ESCAPED.finditer(text):
            last = match.group()[-1]
            letter = chr(int(match["code"], 16)) if match["code"] else _BLANKS.get(last, last)
            pieces += [text[at : match.start()], letter]
            length += match.start() - at + 1
            at = match.end()
            self._bare.append(length)
            self._original.append(at)
        self.text = "".join([*pieces, text[at:]])

    def place(self, index: int) -> int:
        """Where the character at ``index`` of ``text`` stands in the original."""
        before = bisect_right(self._bare, index) - 1
        return self._original[before] + index - self._bare[before]


def _known_formats(text: str) -> Iterator[tuple[int, int]]:
    readable = text.encode(errors="replace").decode()  # a lone surrogate becomes one other character
    if _WEB_TOKEN in readable:
        readable = _LONG_RUN.sub(_calmed, readable)
    for finding in _scanner()(readable, limits=_LIMITS):
        yield finding.start, finding.end
    for match in _FORMATS.finditer(text):
        yield match.span()


@cache
def _scanner() -> Callable[..., Any]:
    redact_secret.initialize()
    return redact_secret.scan


def _calmed(match: re.Match[str]) -> str:
    run = match.group()
    return run if run.count(_WEB_TOKEN) <= _MANY else run.replace(_WEB_TOKEN, "eyj")


def _said(text: str) -> Iterator[tuple[int, int]]:
    """What somebody says their password or key is."""
    for match in _SAID.finditer(text):
        value = match["value"].rstrip(".!?)")
        if len(value) >= (_KEY_LENGTH if match["key"] else 6) and _is_random(value):
            start = match.start("value")
            yield start, start + len(value)


def _is_random(value: str) -> bool:
    """Whether a word mixes letters with digits or signs as passwords do, and is neither a sample nor an expression."""
    if _OWN_WORDS.search(value) or _NOT_RANDOM.fullmatch(value):
        return False
    return bool(re.search(r"[^\W\d_]", value) and re.search(r"[\d!@#$%^&*?+=~]", value))


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        if _ISSUERS.fullmatch(digits) and _checks(digits):
            yield match.span()


def _checks(digits: str) -> bool:
    """Whether the check digit of a card number is right."""
    values = [int(digit) for digit in reversed(digits)]
    doubled = [value * 2 - 9 * (value > 4) if place % 2 else value for place, value in enumerate(values)]
    return sum(doubled) % 10 == 0
