"""One job from submission to exit code: submit, adopt, follow, decide, stop, remove."""
