"""Django admin of the graph: propositions, evidence, embedding spaces, vectors and steers, to look at."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from coverage.admin_base import ReadOnlyAdmin, page_link

from .models import EmbeddingSpace, Instance, Link, Proposition, PropositionVector, Steer


@admin.register(Proposition)
class PropositionAdmin(ReadOnlyAdmin):
    list_display = ("text", "learner", "kind", "state", "page", "created_at")
    list_filter = ("state", "kind", ("learner", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("learner",)
    search_fields = ("=id", "text", "learner__name")

    def view_on_site(self, proposition: Proposition) -> str:
        return reverse("proposition", args=[proposition.pk])

    @admin.display(description="dashboard")
    def page(self, proposition: Proposition) -> SafeString:
        return page_link("proposition", proposition.pk, "open")


@admin.register(Instance)
class InstanceAdmin(ReadOnlyAdmin):
    list_display = ("quote_start", "proposition", "level", "speaker", "live", "occurred_at", "folded_at")
    list_filter = ("live", "level", "speaker")
    list_select_related = ("proposition",)
    search_fields = ("quote", "=message_id", "=fingerprint", "=document_id")
    ordering = ("-folded_at", "id")

    def view_on_site(self, instance: Instance) -> str:
        return reverse("proposition", args=[instance.proposition_id])

    @admin.display(description="quote")
    def quote_start(self, instance: Instance) -> str:
        return instance.quote if len(instance.quote) <= 120 else f"{instance.quote[:119]}…"


@admin.register(Link)
class LinkAdmin(ReadOnlyAdmin):
    list_display = ("source", "type", "target", "learner", "created_at", "withdrawn_at")
    list_filter = ("type", ("withdrawn_at", admin.EmptyFieldListFilter))
    list_select_related = ("source", "target", "learner")
    search_fields = ("source__text", "target__text")
    ordering = ("-created_at", "id")

    def view_on_site(self, link: Link) -> str:
        return reverse("proposition", args=[link.source_id])


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(ReadOnlyAdmin):
    list_display = ("name", "provider", "model", "revision", "dimension", "active", "created_at")
    list_filter = ("active", "provider")
    search_fields = ("name", "model", "revision")


@admin.register(PropositionVector)
class PropositionVectorAdmin(ReadOnlyAdmin):
    """Which vectors there are; the numbers themselves are neither loaded nor shown."""

    list_display = ("proposition", "space", "learner")
    list_filter = ("space",)
    list_select_related = ("proposition", "space", "learner")
    search_fields = ("proposition__text",)
    ordering = ("-pk",)
    exclude = ("embedding",)

    def view_on_site(self, vector: PropositionVector) -> str:
        return reverse("proposition", args=[vector.proposition_id])

    def get_queryset(self, request: HttpRequest) -> QuerySet[PropositionVector]:
        return super().get_queryset(request).defer("embedding")


@admin.register(Steer)
class SteerAdmin(ReadOnlyAdmin):
    list_display = ("chat", "status", "count", "tokens", "budget", "created_at", "delivered_at")
    list_filter = ("status", "created_at")
    list_select_related = ("chat",)
    search_fields = ("=id", "topic", "chat__title")
    ordering = ("-created_at", "id")

    def view_on_site(self, steer: Steer) -> str:
        return reverse("chat", args=[steer.chat_id])
