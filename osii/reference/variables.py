"""``docs/settings.md``: what each environment variable is for, and what a value of it must be."""

from osii import env, variables

from .words import table

HEAD = """# Settings

All settings are environment variables. A wrong value stops every command with its name and what is allowed; an empty value counts as not
set. Keys and passwords are read from the environment alone, and are in no table, no log and no error. This page is written by `make
reference` from the code; a test keeps it true.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for part, texts in variables.TEXTS.items():
        rows = [(f"`{name}`", _default(name), _allowed(name), text) for name, text in texts.items()]
        parts.append(f"\n## {part}\n\n" + table(("variable", "default", "a value is", "what it does"), rows))
    return "".join(parts)


def read() -> dict[str, env.Variable]:
    """Every variable that the settings and the web server's own settings ask for."""
    import osii.gunicorn_conf  # noqa: F401 - reading it is what notes its variables

    return env.READ


def _default(name: str) -> str:
    if name in variables.DEFAULTS:
        return variables.DEFAULTS[name]
    found = read().get(name)
    return f"`{found.default}`" if found and found.default else "none"


def _allowed(name: str) -> str:
    found = read().get(name)
    return found.allowed if found else "text"
