"""Extractors: what turns the bytes of one kind of file into text with spans."""
