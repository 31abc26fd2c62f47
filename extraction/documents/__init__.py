"""The document room: source files by content, immutable extraction versions, and which version is in force.

`services` writes, `selectors` reads, `store` knows the files, `mirror` brings the files up to the database,
`reconcile` heals what a crash left, `invariants` says what does not hold. Extractors run in a child process
(`isolation` starts it, `child` is it); what they import knows nothing of Django. docs/documents.md explains the rules.
"""

PIPELINE_VERSION = "1"
"""Raised when the form of an extraction bundle changes; every provenance.toml names it."""
