"""A real Kubernetes cluster for the tests: built from source, private to one process."""
