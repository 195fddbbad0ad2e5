"""The Kubernetes vocabulary: what dlf writes (frozen, camelCase, defaults left out) and what it reads (tolerant)."""
