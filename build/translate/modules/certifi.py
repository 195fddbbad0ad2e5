"""In place of certifi: httpx imports it even when given an SSLContext, as ours are."""


def where() -> str:
    """Refuse: dlf trusts the cluster's own certificate or the system's, never a bundle of ours."""
    raise RuntimeError("dlf has no certificate bundle")
