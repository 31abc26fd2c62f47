"""The fence around a steer's block.

Whoever reads a transcript recognises an injected block by this fence and takes nothing in it for evidence; so no
text inside a block may open or close one.
"""

import re

NAME = "osii-context"
_TAG = re.compile(rf"<(?=\s*/?\s*{NAME})", re.IGNORECASE)


def one_line(text: str) -> str:
    """The text as one line that cannot open or close the fence: blanks collapsed, control characters blanks too."""
    without_controls = "".join(" " if char < " " or "\x7f" <= char <= "\x9f" else char for char in text)
    return _TAG.sub("‹", " ".join(without_controls.split()))
