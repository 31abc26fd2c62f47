"""Speed measured on demand: `manage.py bench`. One module per benchmark; each measures beside its rivals."""

from collections.abc import Callable

from .result import Result


def registry(*, full: bool = False) -> dict[str, Callable[[], list[Result]]]:
    """Name → benchmark. Each makes its own learner in the scratch database and returns its rows.

    ``full`` adds those that take many minutes, and gives others their full size.
    """
    from . import (
        context_speed,
        diff_speed,
        extractor_speed,
        import_size,
        import_speed,
        intake_speed,
        many_chats,
        many_documents,
        merge_speed,
        plan_speed,
        promote_speed,
        rereading,
        scan_speed,
        search_speed,
    )

    return {
        "import": import_speed.run,
        "import-size": import_size.run_full if full else import_size.run_quick,
        "rereading": rereading.run,
        "diff": diff_speed.run,
        "scan": scan_speed.run_full if full else scan_speed.run_quick,
        "context": context_speed.run,
        "merge": merge_speed.run,
        "intake": intake_speed.run,
        "promote": promote_speed.run,
        "search": search_speed.run_full if full else search_speed.run_quick,
        "plan": plan_speed.run,
        "extractors": extractor_speed.run,
        "documents": many_documents.run,
        **({"chats": many_chats.run} if full else {}),
    }
