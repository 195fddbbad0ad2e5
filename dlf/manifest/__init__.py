"""The Kubernetes vocabulary: what dlf writes (camelCase, defaults left out) and what it reads."""
