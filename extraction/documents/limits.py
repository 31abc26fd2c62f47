"""What one extraction may use."""

from dataclasses import asdict, dataclass

MIB = 1 << 20
DISK_FULL_STATUS = 73
"""How the child ends when not even what came of it finds room on the disk."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one extraction, with all the processes it starts. ``hard_memory`` also sets RLIMIT_AS; off for libraries that map far more than they use."""

    wall_seconds: float = 120.0
    cpu_seconds: int = 120
    memory_bytes: int = 2048 * MIB
    output_bytes: int = 512 * MIB
    output_files: int = 10_000
    processes: int = 64
    hard_memory: bool = True

    def to_dict(self) -> dict[str, float | int | bool]:
        return asdict(self)
