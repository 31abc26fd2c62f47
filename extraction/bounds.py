"""How much a candidate may hold, for the tools, the workers and the review alike."""

CLAIM_CHARACTERS = 500
WHY_CHARACTERS = 500
STALENESS_CHARACTERS = 300
EVIDENCE_IDS = 10
CANDIDATES = 50
"""Of one batch."""
