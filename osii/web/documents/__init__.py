"""What the pages of the document library show: lists, a document's tabs, collections."""
