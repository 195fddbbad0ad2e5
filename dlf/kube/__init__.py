"""The Kubernetes API: where the server is, how to ask it, how to follow what changes."""
