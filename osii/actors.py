"""Who did it, for records of what was done."""

import getpass
import os


def command_actor() -> str:
    """The word "command" and the name of the user who runs this process."""
    try:
        return f"command:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"command:{os.getuid()}"  # a container may run under a number without a name
