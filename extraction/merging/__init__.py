"""From staged candidates to propositions with evidence: by the merge, and by hand."""
