"""How a job ended, and how that is told."""
