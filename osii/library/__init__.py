"""The library: what is made of documents' texts (chunks, vectors, syntheses, enrichments, propositions), and what is stale."""
