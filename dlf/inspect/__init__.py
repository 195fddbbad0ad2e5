"""Reads jobs that exist already: for `dlf list`, `dlf status`, `dlf logs`."""
