"""What a worker explores and what it may stage: the environment, the four tools, admission."""
