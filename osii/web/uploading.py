"""Receiving files of a form: who may send some is known before the body is read, and a body that breaks off is refused."""

from dataclasses import dataclass

from django.core.exceptions import TooManyFilesSent
from django.http import UnreadablePostError

from osii.imports import uploads

from .access import PageRequest

NO_ROOM = "The server could not keep the files: its disk may be full."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an upload was not taken, and the status that says so."""

    reason: str
    status: int


def receive(request: PageRequest, *, nothing: str, too_many: str) -> Refusal | None:
    """Read the body, within the limits of an upload; None when it is complete.

    The form's last field must be ``complete`` with the value yes: a body that broke off looks like one with fewer
    files and nothing ticked. ``nothing`` says that nothing was done, ``too_many`` what to do with very many files.
    The view is exempt from the CSRF middleware, which would read the body first, and checks the token afterwards.
    """
    handler = uploads.ImportUploadHandler(request)
    request.upload_handlers = [handler]
    incomplete = Refusal(f"The upload broke off before it was complete. {nothing}", 400)
    try:
        complete = request.POST.get("complete") == "yes"
    except TooManyFilesSent:
        return Refusal(too_many, 413)
    except UnreadablePostError:
        return incomplete
    except OSError:
        return Refusal(f"{NO_ROOM} {nothing}", 507)
    if handler.refusal:
        return Refusal(handler.refusal, 413)
    return None if complete else incomplete
