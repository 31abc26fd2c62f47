"""Auditing: whether a staged claim is one that the learner's graph holds already, see docs/merging.md."""
