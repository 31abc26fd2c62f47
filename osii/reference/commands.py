"""``docs/commands.md``: every command, as it describes itself."""

import argparse
import importlib
import pkgutil

from osii.management import commands

from .words import cell, one_line

HEAD = """# Commands

Run as `.venv/bin/python manage.py COMMAND` in the project's directory. This page is written by `make reference` from what the commands
say of themselves; a test keeps it true. Django's own options (`--settings`, `--traceback`, …) are left out.
"""

DJANGO = {
    "version",
    "verbosity",
    "settings",
    "pythonpath",
    "traceback",
    "no_color",
    "force_color",
    "skip_checks",
    "help",
}


def page() -> str:
    """The whole page as Markdown."""
    names = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    return HEAD + "".join(map(_command, names))


def _command(name: str) -> str:
    command = importlib.import_module(f"osii.management.commands.{name}").Command()
    parser = command.create_parser("manage.py", name)
    actions = [action for action in parser._actions if action.dest not in DJANGO and action.help != argparse.SUPPRESS]
    usage = " ".join(filter(None, (name, *(_usage(action) for action in actions))))
    rows = "".join(f"| `{_call(action)}` | {cell(_help(action))} |\n" for action in actions)
    options = f"\n| | |\n|---|---|\n{rows}" if rows else ""
    return f"\n## {name}\n\n```\nmanage.py {usage}\n```\n\n{one_line(command.help)}\n{options}"


def _value(action: argparse.Action) -> str:
    """What is written for the action's value; empty for a switch."""
    if action.nargs == 0:
        return ""
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    metavar = action.metavar or action.dest.upper()
    return " ".join(metavar) if isinstance(metavar, tuple) else metavar


def _call(action: argparse.Action) -> str:
    value = _value(action)
    # A cell's bar would end it.
    return " ".join(filter(None, (", ".join(action.option_strings), value))).replace("|", "\\|")


def _usage(action: argparse.Action) -> str:
    if action.option_strings:
        call = " ".join(filter(None, (action.option_strings[-1], _value(action))))
        return call if action.required else f"[{call}]"
    value = _value(action)
    many = {"*": f"[{value} …]", "+": f"{value} [{value} …]", "?": f"[{value}]"}
    return many.get(str(action.nargs), value)


def _help(action: argparse.Action) -> str:
    filled = (action.help or "") % {**vars(action), "prog": "manage.py"} if action.help else ""
    return filled
