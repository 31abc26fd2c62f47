"""From chats to propositions and from documents to immutable text versions."""
