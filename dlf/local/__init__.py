"""The embedded runtime: the rendered resource, run as processes on this machine."""
