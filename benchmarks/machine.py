"""Where figures were measured."""

import os
import platform
from typing import Any

import django
import numpy as np
import psutil
from django.db import connection


def describe() -> dict[str, Any]:
    """Processor count, memory and the versions that decide speed."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        server = cursor.fetchone()[0]
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "processor": platform.machine(),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "django": django.get_version(),
        "numpy": np.__version__,
        "postgresql": server.split()[0],
    }
