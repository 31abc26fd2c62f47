"""Pure text functions that turn what was said into candidate claims.

Nothing here knows Django, the database or the four tools: a list of `Turn`s goes in, a list of `Draft`s comes out
(see `pipeline.draft_claims`). Everything is deterministic, and one language's knowledge is data in a `cues_*` module.
"""
