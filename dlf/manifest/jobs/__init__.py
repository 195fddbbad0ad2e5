"""One file for each job kind: the spec that dlf writes, and the record of what dlf knows of it."""
