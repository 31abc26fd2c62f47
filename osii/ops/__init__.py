"""Running OSII in earnest: probes, metrics, logs, limits, the record of what staff do, and what `doctor --production` asks."""
