"""Secrets are covered, samples and identifiers are not, in every place that a worker reads."""

import base64
import hashlib
import json
import random
import string
import time
import uuid

import pytest

from coverage.view import part_text, transcript_view
from extraction.claims.safety import looks_secret
from extraction.exploring import environment
from extraction.exploring.tools import ExploreTools
from extraction.redaction import SECRET_MASK, redact, secret_spans
from tests import factories
from tests.extraction.exploring.test_tools import MemoryStaging
from tests.factories import message, text

# Put together here, so that no scanner of this repository takes them for real ones.
_dice = random.Random(20260716)
_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def rnd(count: int, letters: str = _LETTERS) -> str:
    return "".join(_dice.choice(letters) for _ in range(count))


def b64(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


def pem(kind: str, lines: int) -> str:
    rows = "\n".join(rnd(64, _LETTERS + "+/") for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{rows}\n-----END {kind}-----"


def around(secret: str, before: str = "", after: str = "") -> tuple[str, str]:
    """(the text, the secret in it)."""
    return f"{before}{secret}{after}", secret


SECRETS = {
    "aws id": around("AK" + "IA" + rnd(16, string.ascii_uppercase + "234567")),
    "aws secret": around(rnd(40), "aws_secret_access_key = "),
    "github": around("gh" + "p_" + rnd(36)),
    "github fine": around("github" + "_pat_" + rnd(22) + "_" + rnd(59)),
    "gitlab": around("gl" + "pat-" + rnd(20)),
    "openai": around("sk-" + "proj-" + rnd(74) + "T3Blbk" + "FJ" + rnd(74)),
    "anthropic": around("sk-" + "ant-api03-" + rnd(93) + "AA"),
    "slack": around("xo" + "xb-" + rnd(12, string.digits) + "-" + rnd(13, string.digits) + "-" + rnd(24)),
    "slack hook": around("https://hooks.slack" + ".com/services/T" + rnd(8) + "/B" + rnd(8) + "/" + rnd(24)),
    "stripe": around("sk_" + "live_" + rnd(24)),
    "google": around("AI" + "za" + rnd(35)),
    "npm": around("np" + "m_" + rnd(36)),
    "sendgrid": around("S" + "G." + rnd(22) + "." + rnd(43)),
    "twilio": around("S" + "K" + rnd(32, _HEX)),
    "web token": around(b64('{"alg":"HS256","typ":"JWT"}') + "." + b64('{"sub":"17","name":"Tom"}') + "." + rnd(43)),
    "pem": around(pem("RSA PRIVATE " + "KEY", 12)),
    "pem short": around(pem("EC PRIVATE " + "KEY", 3)),
    "openssh": around(pem("OPENSSH PRIVATE " + "KEY", 6)),
    "age": around("AGE-SECRET" + "-KEY-1" + rnd(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    "postgres": around(rnd(14), "postgres://app:", "@db.internal:5432/app"),
    "mongo": around(rnd(16), "mongodb+srv://svc:", "@cluster0.ab1cd.mongodb.net/x"),
    "redis": around(rnd(20), "redis://:", "@cache:6379/0"),
    "address": around(rnd(15), "https://tom:", "@git.example.org/repo.git"),
    "odbc": around(rnd(16) + "!", "Server=tcp:x.example.net;User ID=sa;Password=", ";Encrypt=yes"),
    "bearer": around(rnd(40), "Authorization: Bearer "),
    "setting": around(rnd(32), "API_KEY="),
    "said": around("hunter" + "2!x", "my password is ", " and it works"),
    "said in German": around("geheim" + "123!x", "Mein Passwort ist ", "."),
    "said in Japanese": around("kaze" + "99mori", "パスワードは", "。"),
    "card": around("4111 " + "1111 1111 1111"),
    "card with dashes": around("5555-" + "5555-5555-4444"),
    "card in one": around("45395787" + "63621486"),
    "card of fifteen": around("3782-" + "822463-10005"),
}
SURVIVORS = [
    "AKIAIOSFODNN7EXAMPLE",
    "password",
    "The password must have at least twelve characters.",
    "I forgot my password and the token is expired.",
    "The secret is to practise every day.",
    "The token is 4 characters on average; the password is 16-character long and well-known.",
    "The password is sha256-hashed.",
    hashlib.sha1(b"x").hexdigest(),
    "commit " + hashlib.sha1(b"y").hexdigest()[:12],
    str(uuid.UUID(int=_dice.getrandbits(128), version=4)),
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    hashlib.md5(b"z").hexdigest(),
    "sha512-" + base64.b64encode(hashlib.sha512(b"q").digest()).decode(),
    "data:image/png;base64,iVBORw0KGgo" + base64.b64encode(_dice.randbytes(3000)).decode(),
    "ISBN 978-3-16-148410-0",
    "9783161484100",
    "ISBN 0-306-40615-2",
    "4006381333931",
    "1234 5678 9012 3456",
    "4111 1111 1111 1112",
    "DE89 3704 0044 0532 0130 00",
    "+49 30 1234 5678 90",
    "1784176441123",
    "2026-07-16T04:34:01.123456Z",
    "3.14159265358979323846264338327950288419716939937510",
    "postgres://user:password@localhost:5432/mydb",
    "API_KEY=your-api-key-here",
    "export OPENAI_API_KEY=<your key>",
    "password: ********",
    "password = request.form['password']",
    "api_key=os.environ['API_KEY']",
    "def check(password: str, secret: str) -> bool:",
    "max_tokens=4096, token_type_ids=[0,1,1]",
    "AbstractSingletonProxyFactoryBeanConfigurationProvider",
    "ACGTTGCAACGTTAGCCATGACGTTGCAACGTTAGCCATG",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + rnd(43) + " tom@host",
    pem("PUBLIC KEY", 4),
    pem("CERTIFICATE", 6),
    "arXiv:2106.09685v2 doi:10.1145/3292500.3330701",
    "パスワードを忘れました。",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_covered_at_its_place_as_text_and_inside_of_json(name: str) -> None:
    whole, secret = SECRETS[name]
    said = f"Here it is: {whole}\nThank you for this."
    covered = redact(said)
    assert len(covered) == len(said)
    assert secret not in covered
    assert covered.startswith("Here it is: ")
    assert covered.endswith("\nThank you for this.")
    assert not any(piece in covered for piece in secret.split("\n") if len(piece) > 8 and "-----" not in piece)
    once = redact(json.dumps({"key": said}, ensure_ascii=False))
    assert secret not in json.loads(once)["key"]
    assert json.loads(once)["key"].endswith("\nThank you for this.")
    twice = redact(json.dumps({"inner": json.dumps({"key": said})}))
    assert secret not in json.loads(json.loads(twice)["inner"])["key"]
    assert looks_secret(said)


@pytest.mark.parametrize("harmless", SURVIVORS, ids=lambda value: value[:30])
def test_samples_and_identifiers_survive(harmless: str) -> None:
    for form in (
        f"Here it is: {harmless}\nthanks",
        json.dumps({"key": f"it is {harmless}\nthanks"}, ensure_ascii=False),
    ):
        assert redact(form) == form


@pytest.mark.parametrize(
    "unit", ["eyJ", "\\", "\\n", "4111 ", "password is ", "-----BEGIN RSA PRIVATE KEY-----\n", "A" * 45 + "\n", " "]
)
def test_no_text_makes_it_slow(unit: str) -> None:
    started = time.process_time()
    secret_spans(unit * (200_000 // len(unit)))
    assert time.process_time() - started < 4


def everywhere(secret: str) -> list:
    """A chat's messages with the secret in every kind of place."""
    quiz = {
        "type": "tool-quiz", "toolCallId": "q", "state": "output-available",
        "input": {"question": f"Is this safe? {secret}"}, "output": {"answer": f"No: {secret}", "correct": True},
    }  # fmt: skip
    tool = quiz | {
        "type": f"tool-{secret}",
        "input": {secret: [secret]},
        "output": {"log": ["x", {"y": f"a {secret}"}]},
    }
    failed = {
        "type": "dynamic-tool",
        "toolName": "run",
        "toolCallId": "e",
        "state": "output-error",
        "errorText": secret,
    }
    attached = {"type": "file", "mediaType": "text/plain", "filename": f"{secret} notes.txt", "url": "x"}
    return [
        message("a", [text(f"I keep bees. {secret}"), attached]),
        message("b", [text(f"Good. {secret}"), quiz, tool, failed], "assistant"),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["github", "pem short", "postgres", "card", "web token"])
def test_nothing_that_a_worker_reads_holds_a_secret_and_spans_stay_right(name: str) -> None:
    whole, secret = SECRETS[name]
    chat = factories.chat(*everywhere(whole), title=f"About {whole}", settings={"model": whole})
    before = list(chat.messages.order_by("position").values())
    rows = list(chat.messages.order_by("position"))
    content = environment.build(chat, rows)
    forms = [secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]]
    tools = ExploreTools(content, MemoryStaging())
    seen = [
        content,
        environment.overview(content),
        tools.search_evidence("", limit=50),
        tools.read_evidence(from_=1, to=2),
    ]
    assert not any(form in json.dumps(one, ensure_ascii=False) for one in seen for form in forms)
    for entry in content["evidence"]:
        row = rows[entry["position"] - 1]
        original = part_text(transcript_view(row.role, row.parts)["parts"][entry["part"]])
        there = original[entry["char_start"] : entry["char_start"] + len(entry["text"])]
        assert len(there) == len(entry["text"])
        assert all(b in (a, SECRET_MASK) for a, b in zip(there, entry["text"], strict=True))
    quizzed = next(entry for entry in content["evidence"] if entry["id"] == "r2.1")
    assert quizzed["tool"]["output"]["correct"] is True
    assert SECRET_MASK in quizzed["tool"]["input"]["question"]
    assert list(chat.messages.order_by("position").values()) == before


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["github", "pem short", "postgres"])
def test_what_was_stored_before_it_was_covered_is_covered_when_it_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, secret = SECRETS[name]
    chat = factories.chat(*everywhere(whole), title=f"About {whole}", settings={"model": whole})
    rows = list(chat.messages.order_by("position"))
    now = environment.build(chat, rows)
    assert environment.readable(now) is now
    with monkeypatch.context() as before:
        before.setattr(environment, "redact", lambda told: told)
        before.setattr(environment, "COVERING", 0)
        stored = environment.build(chat, rows)
    del stored["covering"]  # as it was before there was such a number
    assert secret in stored["evidence"][0]["text"] or "PRIVATE" in stored["evidence"][0]["text"]
    read = environment.readable(stored)
    forms = [secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]]
    tools = ExploreTools(read, MemoryStaging())
    for seen in (
        read["chat"],
        environment.overview(read),
        tools.search_evidence("", limit=50),
        tools.read_evidence(from_=1, to=2),
    ):
        assert not any(form in json.dumps(seen, ensure_ascii=False) for form in forms)
    texts = [[one["text"] for one in made["evidence"]] for made in (read, now)]
    assert texts[0] == texts[1]
    assert [one["char_start"] for one in read["evidence"]] == [one["char_start"] for one in now["evidence"]]
