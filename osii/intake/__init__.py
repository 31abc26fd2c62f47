"""Files on their way into the library: uploads that wait for a decision, and what adding a file would do."""
