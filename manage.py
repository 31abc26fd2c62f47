#!/usr/bin/env python
"""Run a management command: `manage.py help` lists them."""

import sys

from osii.entry import main

if __name__ == "__main__":
    sys.exit(main(sys.argv))
