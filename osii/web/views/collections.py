"""Collections of documents: the list, and making, renaming and deleting them."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from osii.models import Collection
from osii.permissions import SEE_COLLECTIONS
from osii.web.access import PageRequest, staff_action, staff_page
from osii.web.documents import membership
from osii.web.documents.listing import CollectionFilter, collections_with_counts
from osii.web.forms import CollectionForm
from osii.web.listing import render_list
from osii.web.paging import page_of

ADD, CHANGE, DELETE = "osii.add_collection", "osii.change_collection", "osii.delete_collection"


@require_safe
@staff_page(SEE_COLLECTIONS)
def collections(request: PageRequest) -> HttpResponse:
    return _page(request, CollectionForm())


def _page(request: PageRequest, form: CollectionForm, status: int = 200) -> HttpResponse:
    chosen = CollectionFilter(request.GET, collections_with_counts())
    context = {
        "new": form,
        "page": page_of(request, chosen.qs),
        **chosen.context(),
        "list_path": reverse("collections"),
        "can_add": request.user.has_perm(ADD),
        "can_change": request.user.has_perm(CHANGE),
        "can_delete": request.user.has_perm(DELETE),
    }
    return render_list(
        request, "collections/collections_page.html", "collections/collection_table.html", context, status
    )


@require_POST
@staff_action(ADD, SEE_COLLECTIONS)
def collection_create(request: PageRequest) -> HttpResponse:
    form = CollectionForm(request.POST)
    if form.is_valid():
        try:
            made = membership.create(form.cleaned_data["name"], request.user)
        except membership.NameTaken:
            form.add_error("name", "There is a collection of this name already.")
        else:
            messages.success(request, f"The collection “{made.name}” is made. Add documents to it from their list.")
            return redirect("collections")
    return _page(request, form, 422)


@require_POST
@staff_action(CHANGE)
def collection_rename(request: PageRequest, collection_id: UUID) -> HttpResponse:
    row = get_object_or_404(Collection, pk=collection_id)
    form = CollectionForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Nothing was changed: {' '.join(form.errors['name'])}")
        return redirect("collections")
    try:
        membership.rename(row, form.cleaned_data["name"])
    except membership.NameTaken:
        messages.error(request, "Nothing was changed: there is a collection of this name already.")
    else:
        messages.success(request, f"“{row.name}” is called “{form.cleaned_data['name']}” now.")
    return redirect("collections")


@require_POST
@staff_action(DELETE)
def collection_delete(request: PageRequest, collection_id: UUID) -> HttpResponse:
    row = get_object_or_404(Collection, pk=collection_id)
    row.delete()
    messages.success(request, f"The collection “{row.name}” is deleted. Its documents are where they were.")
    return redirect("collections")
