"""How a job ended, and the report of it."""
