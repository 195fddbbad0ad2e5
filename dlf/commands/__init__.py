"""One file a command: `run(argv, edge)` parses to values, then calls the room that works."""
