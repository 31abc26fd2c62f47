"""Finding the learner that a command names."""

from coverage.models import Learner
from coverage.view import MalformedParts, check_storable

from .console import Command

MOST_NAMED = 5


def find_learner(command: Command, name: str) -> Learner:
    """The learner of exactly this name; ends the command with one line when there is none."""
    try:
        check_storable(name, "NAME")
    except MalformedParts as error:
        command.fail(str(error))
    found = Learner.objects.filter(name=name).first()
    if found is not None:
        return found
    alike = Learner.objects.filter(name__icontains=name).order_by("name").values_list("name", flat=True)[:MOST_NAMED]
    hint = f"; there is {', '.join(repr(one) for one in alike)}" if alike else ""
    command.fail(f"there is no learner {name!r}{hint}")
