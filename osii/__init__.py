"""The project and its front."""

__version__ = "0.1.0"
