"""`manage.py mcp`: serve one learner's knowledge to a client over the Model Context Protocol."""

from typing import Any

from osii import console, env


class Command(console.Command):
    help = (
        "Serve what one learner knows over the Model Context Protocol, on standard input and output, read-only: the "
        "context for a topic, propositions, their evidence. The learner's token is read from OSII_TOKEN. "
        "A client starts this command; see docs/connect-a-client.md."
    )
    has_json = False

    def run(self, **options: Any) -> None:
        from osii import mcp_server

        token = env.string("OSII_TOKEN")
        try:
            mcp_server.learner_of(token)
        except mcp_server.TokenRefused as error:
            self.fail(str(error))
        mcp_server.build(token).run("stdio")
