"""Commands of ranks that have to be there together."""

MEET = """
import os, socket, time
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    with socket.create_server(("", address[1])) as server:
        for _ in range(int(os.environ["WORLD_SIZE"]) - 1):
            server.accept()[0].close()
    raise SystemExit
while True:
    try:
        socket.create_connection(address, timeout=60).close()
        break
    except OSError:
        time.sleep(0.2)
"""
"""In Python: ends in all ranks when all have come; a master that starts last is waited for."""

IDLE = "trap exit TERM; echo started; sleep 1000 & wait"
"""In the shell: runs until it is told to end, and then ends at once."""
