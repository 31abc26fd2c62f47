"""What the routes say about themselves: their errors, and the bodies that are read without a schema."""

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from .permissions import NEEDS
from .problems import MEDIA_TYPE
from .schemas import ProblemOut, UIMessage

ALWAYS = (401, 403, 422)
WITH_BODY = (400, 413, 415)


def problems(*statuses: int, body: bool = False) -> dict[int, type[ProblemOut]]:
    """``response`` entries for the errors of a route: these, and those that every route has."""
    return dict.fromkeys(sorted({*ALWAYS, *statuses, *(WITH_BODY if body else ())}), ProblemOut)


def message_body() -> dict[str, Any]:
    """``openapi_extra`` for the body of messages, which is checked message by message."""
    message = UIMessage.model_json_schema()
    several = {"type": "array", "items": message, "maxItems": 10_000}
    on_finish = {
        "type": "object",
        "description": "What the AI SDK hands to onFinish; other fields are ignored.",
        "properties": {"messages": several, "responseMessage": message, "message": message},
        "minProperties": 1,
    }
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"oneOf": [several, on_finish]}}}}
    }


class Api(NinjaAPI):
    """An API whose schema says that errors are problem+json, and what the account of a staff token needs."""

    def get_openapi_schema(self, *args: Any, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(*args, **options)
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                operation["x-permissions"] = list(NEEDS[f"{method.upper()} {path}"].every)
                for status, answer in operation["responses"].items():
                    if int(status) >= 400 and "content" in answer:
                        answer["content"] = {MEDIA_TYPE: next(iter(answer["content"].values()))}
        return schema
