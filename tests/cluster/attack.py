"""What strangers do to the port of `dlf worker --remote`: runs in their pods, knows nothing of dlf.

Arguments: the address and port of a pod that serves; what a pod of the job once sent there, in
hexadecimal; the job's secret, in hexadecimal. Each attack prints one line. The last one goes on
until the pod is deleted.
"""

import contextlib
import hashlib
import secrets
import socket
import sys
import time

TARGET = (sys.argv[1], int(sys.argv[2]))
RECORDED, SECRET = bytes.fromhex(sys.argv[3]), bytes.fromhex(sys.argv[4])
_NONCE_BYTES, _HELLO_BYTES = 32, 36


def connect() -> socket.socket:
    """A connection to the pod that serves."""
    return socket.create_connection(TARGET, timeout=30)


def answer(connection: socket.socket) -> str:
    """How many bytes come until the pod hangs up."""
    count = 0
    try:
        while data := connection.recv(4096):
            count += len(data)
    except TimeoutError:
        return f"{count} bytes, left open"
    except OSError:
        pass
    return f"{count} bytes, hung up"


def sent(data: bytes) -> str:
    """The answer to some bytes."""
    with connect() as connection:
        connection.sendall(data)
        return answer(connection)


def replayed() -> str:
    """The answer to the rest of a recording, after its first part was answered."""
    with connect() as connection:
        connection.sendall(RECORDED[:_HELLO_BYTES])
        connection.recv(_NONCE_BYTES, socket.MSG_WAITALL)
        connection.sendall(RECORDED[_HELLO_BYTES:])
        return answer(connection)


def proved(secret: bytes) -> int:
    """How many bytes come for a proof by this secret."""
    key = hashlib.blake2b(secret.strip(), digest_size=32, person=b"dlf remote key").digest()
    ours = secrets.token_bytes(_NONCE_BYTES)
    with connect() as connection:
        connection.sendall(b"DLF1" + ours)
        theirs = connection.recv(_NONCE_BYTES, socket.MSG_WAITALL)
        both = ours + theirs
        proof = hashlib.blake2b(both, digest_size=32, key=key, person=b"dlf client").digest()
        connection.sendall(proof)
        try:
            return len(connection.recv(4096))
        except OSError:
            return 0


class Slow:
    """A connection that sends a byte now and then, or, with `silent`, nothing."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.open()

    def open(self) -> None:
        """Begin, or begin again."""
        self.connection = connect()
        self.rest = b"DLF1" + secrets.token_bytes(_NONCE_BYTES - 1)
        self.connection.setblocking(False)

    def step(self) -> None:
        """Send a byte; connect again when the pod has hung up."""
        try:
            if not self.silent and self.rest:
                self.connection.send(self.rest[:1])
                self.rest = self.rest[1:]
            if self.connection.recv(1):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.connection.close()
        self.open()


def main() -> None:
    """Run the attacks in turn."""
    print("right token:", proved(SECRET), "bytes")
    print("wrong token:", proved(secrets.token_bytes(32)), "bytes")
    print("no token:", sent(b"DLF1" + secrets.token_bytes(_NONCE_BYTES)))
    print("replay at once:", sent(RECORDED))
    print("replay in turn:", replayed())
    print("another protocol:", sent(b"SSH-2.0-OpenSSH_9.6\r\n"))
    for _ in range(1000):
        connect().close()
    print("port scan: 1000 connections")
    for _ in range(10_000):
        with contextlib.suppress(OSError), connect() as connection:
            connection.sendall(secrets.token_bytes(200))
    print("garbage: 10000 connections")
    held = [Slow(silent=bool(number % 2)) for number in range(200)]
    print("slow: 200 connections", flush=True)
    while True:
        for each in held:
            each.step()
        time.sleep(0.1)


main()
