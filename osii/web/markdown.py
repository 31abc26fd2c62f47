"""Markdown of an assistant's message as safe HTML: no raw HTML, no images, no scripts in links, no inline styles."""

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

LONGEST = 50_000
"""Longer texts are shown as they are: rendering them would hold up the page."""

RIGHT = "text-align:right"


class _Renderer(RendererHTML):
    """Links say nothing about where they were followed; table cells carry a class instead of a style."""

    def renderAttrs(self, token: Token) -> str:
        if token.attrs.pop("style", None) == RIGHT:
            token.attrSet("class", "num")
        if token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer nofollow")
        return super().renderAttrs(token)

    def heading_open(self, tokens: list[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """The page's own headings keep their order: a heading inside a message is a bold line."""
        return '<p class="md-heading">'

    def heading_close(self, tokens: list[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return "</p>\n"


_markdown = (
    MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
    .enable(["table", "strikethrough"])
    .disable("image")
)


def render(text: str) -> SafeString | None:
    """Safe HTML of a Markdown text; None when it is too long to render."""
    if len(text) > LONGEST:
        return None
    # Everything that comes from the text was escaped by the renderer: html is off.
    return mark_safe(_markdown.render(text))
