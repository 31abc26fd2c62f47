"""The style page, for those who change the pages."""

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from osii.permissions import ANYTHING
from osii.web.access import PageRequest, staff_page
from osii.web.styleguide import samples


@require_safe
@staff_page(one_of=ANYTHING)
def styleguide(request: PageRequest) -> HttpResponse:
    """Every fragment in its states, light and dark.

    It shows nobody's data, but is of no use to those who run a library: superusers see it, and with DEBUG, which is a
    developer's own machine, all staff.
    """
    if not (settings.DEBUG or request.user.is_superuser):
        raise PermissionDenied("The style page is for superusers.")
    return render(request, "styleguide/styleguide_page.html", {"samples": samples(request)})
