"""What the style page shows: each template fragment in its states, from made-up values. Nothing is read from the database."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from coverage.models import Chat
from extraction.selectors import STATES, StateGroup

from . import strip
from .access import PageRequest
from .activity_list import Row
from .dock import Dock
from .statuses import FAMILIES

THEMES = ("light", "dark")
NO_CHAT = Chat(id=UUID(int=0))
LONG = "sha256-" + "0123456789abcdef" * 4
NAMES = ("Ice floats", LONG, "光合作用与气孔的开闭", "التمثيل الضوئي في الجفاف", "🌿 Leaves 👩‍🔬")
REFERENCES = re.compile(r'(\b(?:id|for|aria-labelledby|aria-describedby|name)="|href="#|url\(#)([\w-]+)')


class SampleForm(forms.Form):
    """One field that is right, one with an error, and one that says what it is for."""

    q = forms.CharField(label="Search", required=False)
    state = forms.ChoiceField(label="State", choices=[("", "any"), ("due", "due")])
    budget = forms.IntegerField(label="Tokens", min_value=0, help_text="From 0 to 4,096.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            kind = "form-select" if isinstance(field, forms.ChoiceField) else "form-control"
            field.widget.attrs |= {"class": f"{kind} {kind}-sm", "id": f"sample-{name}"}
            if name in self.errors:
                field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"error-{name}"}


def samples(request: PageRequest) -> dict[str, SafeString]:
    """{theme: the fragments' HTML}, with ids of each theme's own so that both fit on one page."""
    html = render_to_string("styleguide/samples.html", _context(request.user), request)
    return {theme: _renamed(html, theme) for theme in THEMES}


def _renamed(html: str, suffix: str) -> SafeString:
    """The same with ids of its own: what templates rendered, for a second place on the page."""
    return mark_safe(REFERENCES.sub(rf"\g<1>\g<2>-{suffix}", html))


def _each(template: str, contexts: list[dict[str, Any]]) -> list[SafeString]:
    return [_renamed(render_to_string(template, context), str(n)) for n, context in enumerate(contexts, start=1)]


def _context(user: User) -> dict[str, Any]:
    return {
        "families": [(family.replace("_", " "), family, list(known)) for family, known in FAMILIES.items()],
        "names": NAMES,
        "long": LONG,
        "now": timezone.now(),
        "ago": timezone.now() - timedelta(days=9),
        "page": Paginator(range(10_000), 50).page(7),
        "list_path": "/styleguide/",
        "strips": _each(
            "chats/coverage_strip.html",
            [
                {"strip": strip.build(list(_messages(28))), "chat": NO_CHAT},
                {"strip": strip.build(list(_messages(250, in_each=4))), "chat": NO_CHAT},
            ],
        ),
        "coverages": [_covered(0, 1200), _covered(640, 1200, parked=220), _covered(1200, 1200), _covered(0, 0)],
        "form": SampleForm({"q": "stomata", "state": "nonsense", "budget": "-1"}),
        "docks": _each(
            "dock/dock_box.html",
            [
                _dock(user, running=2, queued=1, failed=1, rows=_rows()),
                _dock(user, offline="Worker offline: nobody works on chats."),
                _dock(user),
            ],
        ),
    }


def _messages(count: int, in_each: int = 1) -> Iterator[StateGroup]:
    for number in range(count):
        state = STATES[number % len(STATES)] if count < 100 else STATES[number // 36 % len(STATES)]
        first = number * in_each + 1
        tokens = 0 if state == "empty" else 40 + number * 37 % 300
        yield StateGroup(number, state, "user", in_each, tokens, first, first + in_each - 1)


def _covered(tokens: int, whole: int, parked: int = 0) -> dict[str, int]:
    return {"covered_tokens": tokens, "total_tokens": whole, "parked_tokens": parked}


def _dock(user: User, **more: Any) -> dict[str, Any]:
    none: dict[str, Any] = {
        "running": 0,
        "queued": 0,
        "failed": 0,
        "failed_steers": 0,
        "rows": (),
        "more": 0,
        "offline": "",
    }
    return {"dock": Dock(**none | more), "may_import": True, "user": user}


def _rows() -> list[Row]:
    at = timezone.now()
    return [
        Row("processing", "Process library: chunks, embeddings", "#", "processing", "running", at, done=340, total=1200, unit="documents"),
        Row("chat", NAMES[1], "#", "run", "queued", at, done=0, unit="tokens"),
        Row("import", NAMES[3], "#", "import", "failed", at, done=20, total=80, unit="bytes", error="The file is cut off."),
    ]  # fmt: skip
