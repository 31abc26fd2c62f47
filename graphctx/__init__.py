"""The knowledge graph as context: propositions, embedding spaces, the exact scan, selection, steers."""
