"""All routes under ``/api/``. Each needs a token; only the pages that describe them do not."""

from ninja import Swagger

from . import chats, knowledge, problems, removals, runs, search
from .auth import Bearer
from .bodies import JsonParser
from .openapi import Api

DESCRIPTION = """Chats go in, coverage and knowledge come out. Send `Authorization: Bearer osii_…`; tokens are made in
Django admin or with `manage.py create_token`. A learner's token sees that learner's rows only. Every error is
`application/problem+json`."""

api = Api(
    title="OSII",
    version="1",
    description=DESCRIPTION,
    auth=Bearer(),
    parser=JsonParser(),
    urls_namespace="api",
    # The page would else ask another host whether the schema is valid.
    docs=Swagger(settings={"validatorUrl": None, "persistAuthorization": False}),
)
problems.install(api)
api.add_router("/chats", chats.router)
api.add_router("", knowledge.router)
api.add_router("", search.router)
api.add_router("", runs.router)
api.add_router("/objects", removals.router)
