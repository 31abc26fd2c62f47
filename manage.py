#!/usr/bin/env python
"""Run a management command: `manage.py help` lists them."""

import sys

if __name__ == "__main__":
    try:
        from osii.entry import main
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error}: run `make demo` once, then `.venv/bin/python manage.py {' '.join(sys.argv[1:])}`")
    sys.exit(main(sys.argv))
