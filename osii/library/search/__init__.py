"""Search over the chunks that are current: by words, by meaning, or by both."""
