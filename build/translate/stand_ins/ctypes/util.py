"""Finding libraries, of which there are none."""


def find_library(name: str) -> None:
    """Find nothing."""
