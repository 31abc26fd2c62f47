"""The built-in chat: a prober and a teacher, by a language model or by a script, over the same services as the HTTP API."""
