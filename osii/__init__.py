"""The project and its front."""
