"""Small pieces of the pages' visual language: icons, status badges, times, durations, the coverage bar."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import template
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.core.paginator import Page
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from coverage.words import counted
from extraction.models import Batch
from extraction.prompts import is_older
from extraction.spending import money
from osii.library.incoming import uploads_root
from osii.models import ProcessingRun
from osii.web import paging, processing, review, strip
from osii.web.access import needs_of
from osii.web.documents.listing import type_name
from osii.web.statuses import Status, status_of

register = template.Library()

SECTIONS = {
    "home": ("home",),
    "chats": ("chat", "batch"),
    "activity": ("activity", "processing"),
    "review": ("review",),
    "propositions": ("proposition",),
    "graph": ("graph",),
    "documents": ("document", "collection"),
    "intake": ("intake",),
    "imports": ("import",),
    "search": ("search",),
    "talk": ("talk",),
}
"""Which pages belong to an entry of the navigation: the beginnings of their URL names."""

CODE = re.compile("`([^`]+)`")


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon of the vendored set; always beside a word, so it is hidden from screen readers."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        static("vendor/bootstrap-icons/icons.svg"),
        name,
    )


@register.simple_tag
def badge(family: str, value: str) -> SafeString:
    """A status as icon and word."""
    return _badge(status_of(family, value))


@cache
def _badge(status: Status) -> SafeString:
    return format_html(
        '<span class="badge-state tone-{}"{}>{}<span>{}</span></span>',
        status.tone,
        format_html(' title="{}"', status.help) if status.help else "",
        icon(status.icon),
        status.word,
    )


@register.filter
def sees(user: User | AnonymousUser, name: str) -> bool:
    """Whether the account may see the page of this name: ``user|sees:"activity"``."""
    return needs_of(name).allow(user)


@register.filter
def older_prompt(batch: Batch) -> bool:
    """Whether a batch was read under older instructions than those in force."""
    return is_older(batch)


@register.filter
def cost(amount: Decimal | None) -> str:
    """What models were paid, in the currency of their prices."""
    return "not known" if amount is None else money(amount)


@register.simple_tag
def when(value: datetime | None, empty: str = "never") -> SafeString:
    """A point in time: how long ago, and exactly (UTC)."""
    if value is None:
        return format_html('<span class="text-muted-2">{}</span>', empty)
    exact = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC"><span class="when-ago">{}</span> <span class="when-exact">{}</span></time>',
        exact.isoformat(timespec="seconds"),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        _ago(value),
        exact.strftime("%Y-%m-%d %H:%M"),
    )


def _ago(value: datetime) -> str:
    """The larger unit only: "3 weeks ago" says as much as "3 weeks, 2 days ago"."""
    if abs(timezone.now() - value) < timedelta(seconds=1):
        return "now"
    text = naturaltime(value)
    head, comma, _ = text.partition(",")
    if not comma:
        return text
    return f"{head} ago" if value <= timezone.now() else f"{head} from now"


@register.simple_tag
def duration(start: datetime | None, end: datetime | None) -> str:
    """How long something took, or has taken so far: "1.4 s", "3 min 05 s", "2 h 10 min"."""
    if start is None:
        return "–"
    return seconds(((end or timezone.now()) - start).total_seconds())


@register.filter
def seconds(value: float | timedelta) -> str:
    """ "1.4 s", "3 min 05 s", "2 h 10 min"."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds < 60:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


@register.filter
def run_title(run: ProcessingRun) -> str:
    """What a processing run does, in words."""
    return processing.run_title(run)


@register.filter
def file_name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


@register.filter
def was_uploaded(path: str) -> bool:
    """Whether the file came by the upload page: then its path is a place of ours, kept for a while, and says nothing."""
    return path.startswith(f"{uploads_root()}/")


@register.filter
def media(mime: str) -> str:
    """A media type as people call it."""
    return type_name(mime)


@register.filter
def with_code(text: object) -> SafeString:
    """A sentence, or a message that is one, in which what stands between `backticks` is set as code."""
    return mark_safe(CODE.sub(r"<code>\1</code>", conditional_escape(str(text))))


@register.filter
def number(value: int, noun: str) -> str:
    """A number with its noun: ``3|number:"chat"``; ``"batch,batches"`` where the plural is more than an s."""
    return counted(value, *noun.split(","))


@register.filter
def tokens(value: int) -> str:
    """ "1 token", "1,240 tokens"."""
    return counted(value, "token")


@register.filter
def about_tokens(value: int) -> str:
    """ "~240 tokens", "~1.1k tokens"."""
    return f"~{value} tokens" if value < 1000 else f"~{value / 1000:.1f}k tokens"


@register.filter
def percent_of(part: int, whole: int) -> int:
    """``part`` of ``whole`` in percent: 100 only when it is all of it, 0 only when it is none."""
    if not whole:
        return 0
    rounded = round(100 * part / whole)
    if part < whole:
        rounded = min(rounded, 99)
    return max(rounded, 1) if part else rounded


@register.inclusion_tag("parts/coverage_bar.html")
def coverage_bar(summary: dict[str, Any]) -> dict[str, Any]:
    """A chat's coverage as a bar, with its fraction in words."""
    return {"summary": summary, "bars": strip.bar(summary)}


@register.inclusion_tag("parts/nav_item.html", takes_context=True)
def nav_item(context: template.Context, name: str, icon_name: str, label: str) -> dict[str, Any]:
    """One entry of the main navigation, marked when the page belongs to it; nothing for who may not see that page."""
    request = context.get("request")
    if request is None or not (name == "admin:index" or needs_of(name).allow(request.user)):
        return {"name": ""}
    match = request.resolver_match
    here = (match.url_name or "") if match and not match.namespace else ""
    if match and here == "bulk":  # of a list
        here = match.kwargs["name"]
    return {
        "name": name,
        "icon_name": icon_name,
        "label": label,
        "count": review.navigation_count(request) if name == "review" else "",
        "current": here.startswith(SECTIONS.get(name, ("\0",))),
    }


def _singular(nouns: str) -> str:
    """Of what lists hold: ``chats``, ``batches``, ``activities``, ``pieces of evidence``."""
    first, space, rest = nouns.partition(" of ")
    for ending, one in (("ies", "y"), ("ches", "ch"), ("s", "")):
        if first.endswith(ending):
            return first.removesuffix(ending) + one + space + rest
    return nouns


@register.inclusion_tag("parts/pages.html", takes_context=True)
def pages(
    context: template.Context, page: Page, noun: str, *, live: bool = False, name: str = "page"
) -> dict[str, Any]:
    """Links to the pages of a list, keeping the rest of the query string; ``live`` swaps the results in place."""
    paginator = page.paginator
    query = context["request"].GET.copy()
    query.pop(name, None)
    rest = urlencode([(key, value) for key, value in query.items() if value])
    path = context.get("list_path") or context["request"].path
    return {
        "page": page,
        "noun": noun,
        "forms": f"{_singular(noun)},{noun}",
        "live": live,
        "numbers": list(paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1)),
        "ellipsis": paginator.ELLIPSIS,
        "base": f"{path}?{rest}&{name}=" if rest else f"{path}?{name}=",
    }


@register.inclusion_tag("parts/column.html", takes_context=True)
def column(
    context: template.Context, label: str, first: str, second: str, *, kind: str = "", title: str = ""
) -> dict[str, Any]:
    """The head of a column that sorts its list: ``first`` is the order of a click, ``second`` that of another; both are
    values of the list's ``sort``. It works as a link without a script."""
    chosen = context["filterset"]
    now = chosen.chosen().get("sort", "")
    to = second if now == first else first
    query = chosen.query(without="sort", sort=to, view=context.get("view", ""))
    direction = "descending" if chosen.filters["sort"].descends(now) else "ascending"
    return {
        "label": label,
        "kind": kind,
        "title": title,
        "direction": direction if now in (first, second) else "",
        "url": f"{context.get('list_path') or context['request'].path}{'?' if query else ''}{query}",
    }


@register.simple_tag
def message_url(chat_id: UUID, position: int) -> str:
    """Where a message stands: its chat's page, the page of the transcript, and its anchor."""
    number = paging.page_holding(position, paging.MESSAGES_PER_PAGE)
    return f"{reverse('chat', args=[chat_id])}{f'?page={number}' if number > 1 else ''}#m-{position}"


@register.simple_tag
def messages_range(batch: Batch) -> str:
    """Where a batch lies: "message 46", "messages 12–30"; of a document "part 3", "parts 1–4"."""
    first, last = batch.first_position, batch.last_position
    what = "part" if batch.document_id else "message"
    return f"{what} {first}" if first == last else f"{what}s {first}–{last}"
