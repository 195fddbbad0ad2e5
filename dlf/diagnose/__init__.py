"""Why a job waits or failed."""
