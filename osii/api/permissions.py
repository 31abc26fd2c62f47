"""What each call needs of the account that a staff token acts for, as the pages that do the same need it.

A learner's token is asked for none: it opens that learner's rows, in the routes that are for learners.
"""

from osii.permissions import CONTROL, PROCESS, SEE_CHATS, SEE_DOCUMENTS, SEE_LIBRARY, SEE_PROPOSITIONS, TALK, Needs

REMOVE, CLEAN_UP = "extraction.delete_document", "extraction.delete_extractionversion"

_PERMISSIONS: dict[str, str | tuple[str, ...]] = {
    "POST /api/chats": TALK,
    "GET /api/chats/{chat_id}": SEE_CHATS,
    "DELETE /api/chats/{chat_id}": "coverage.delete_chat",
    "PUT /api/chats/{chat_id}/settings": "coverage.change_chat",
    "PUT /api/chats/{chat_id}/messages": TALK,
    "DELETE /api/chats/{chat_id}/messages/{message_id}": "coverage.delete_message",
    "POST /api/chats/{chat_id}/finish": TALK,
    "GET /api/chats/{chat_id}/coverage": SEE_CHATS,
    "POST /api/chats/{chat_id}/extract": "extraction.add_run",
    "POST /api/chats/{chat_id}/reread": "coverage.add_coverageentry",
    "POST /api/chats/{chat_id}/abort": "extraction.change_run",
    "POST /api/chats/{chat_id}/turn": TALK,
    "POST /api/chats/{chat_id}/steer/ack": TALK,
    "GET /api/chats/{chat_id}/context": SEE_CHATS,
    "POST /api/context": SEE_PROPOSITIONS,
    "GET /api/propositions": SEE_PROPOSITIONS,
    "GET /api/propositions/{proposition_id}": SEE_PROPOSITIONS,
    "POST /api/propositions/{proposition_id}/forget": "graphctx.change_proposition",
    "POST /api/propositions/{proposition_id}/restore": "graphctx.change_proposition",
    "POST /api/search": SEE_DOCUMENTS,
    "POST /api/resolve": SEE_LIBRARY,
    "POST /api/resolve/documents": SEE_LIBRARY,
    "POST /api/runs": PROCESS,
    "GET /api/runs": SEE_LIBRARY,
    "GET /api/runs/{run_id}": SEE_LIBRARY,
    "GET /api/runs/{run_id}/items": SEE_LIBRARY,
    "POST /api/runs/{run_id}/pause": CONTROL,
    "POST /api/runs/{run_id}/resume": CONTROL,
    "POST /api/runs/{run_id}/cancel": CONTROL,
    "POST /api/runs/{run_id}/retry": CONTROL,
    "GET /api/objects": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}": SEE_DOCUMENTS,
    "DELETE /api/objects/{file_id}": REMOVE,
    "GET /api/objects/{file_id}/manifest": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}/texts": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}/syntheses": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}/source": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}/extractions": SEE_DOCUMENTS,
    "POST /api/objects/{file_id}/extractions": PROCESS,
    "POST /api/objects/{file_id}/extractions/{extraction_id}/primary": "extraction.add_promotion",
    "GET /api/objects/{file_id}/extractions/{extraction_id}/artifacts": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}/extractions/{extraction_id}/artifacts/{name}": SEE_DOCUMENTS,
    "GET /api/objects/{file_id}/removal": REMOVE,
    "GET /api/objects/{file_id}/retention": CLEAN_UP,
    "POST /api/objects/{file_id}/retention": CLEAN_UP,
}
NEEDS = {call: Needs((of,) if isinstance(of, str) else of) for call, of in _PERMISSIONS.items()}
"""{call: its permissions}. A call that is missing here is closed to every token of an account."""
