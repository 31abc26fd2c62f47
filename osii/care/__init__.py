"""Care of what people entrusted: backups and their restoring, one learner's export, and the erasure of a learner."""
