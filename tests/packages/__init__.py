"""What the locked packages bring with them: their licences, and advisories that are known of their versions."""
