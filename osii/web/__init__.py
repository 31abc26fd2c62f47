"""The dashboard: pages for staff, composed from what the apps offer."""
