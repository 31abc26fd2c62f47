"""The smallest conversation that shows whether an endpoint answers, and whether its model makes native tool calls."""

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters

from .toolset import definitions

QUESTION = (
    "This is a test of the connection. There is nothing to read and nothing to keep. Call finish_extraction with "
    'staged_count 0 and the reason "connection test".'
)


async def probe(model: Model) -> bool:
    """Ask once for a tool call; whether one came. Raises what the request raises."""
    offered = ModelRequestParameters(function_tools=definitions(), allow_text_output=True)
    response = await model_request(model, [ModelRequest.user_text_prompt(QUESTION)], model_request_parameters=offered)
    return any(isinstance(part, ToolCallPart) for part in response.parts)
