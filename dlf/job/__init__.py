"""One job from submission to exit code."""
