"""Logs of many containers as one stream: every line once, each with the name of its pod."""
