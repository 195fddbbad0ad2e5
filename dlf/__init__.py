"""One command for a distributed training job on Kubernetes."""

__version__ = "0.1.0"
