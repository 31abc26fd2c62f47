"""Import of chats from files: one module per format, one reader of large JSON, one loader.

``load.import_paths`` is the way in. A format is a module-level object of ``formats.Format``; it sees a
``documents.Document`` and yields one ``records.ParsedChat`` per conversation, or a ``records.Problem``.
"""
