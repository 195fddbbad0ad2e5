"""A DNS server of a few names, for programs that read /etc/resolv.conf."""

import socket
import threading
from collections.abc import Mapping
from typing import Self

_RECURSIVE_ANSWER, _NO_SUCH_NAME = 0x8180, 3
_ADDRESS = 1  # the record type A


class NameServer:
    """A context manager that answers on port 53 of an address for the names it is given."""

    def __init__(self, address: str, names: Mapping[str, str]) -> None:
        self._names = names
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self._thread = threading.Thread(target=self._serve, name="name server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.sendto(b"", self._socket.getsockname())  # an empty question ends it
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(512)
            if not question:
                return
            self._socket.sendto(self._answer(question), client)

    def _answer(self, message: bytes) -> bytes:
        """RFC 1035, section 4: a header, the question, and at most one answer."""
        labels, at = [], 12
        while size := message[at]:
            labels.append(message[at + 1 : at + 1 + size].decode())
            at += 1 + size
        question = message[12 : at + 5]
        wanted = int.from_bytes(message[at + 1 : at + 3])
        address = self._names.get(".".join(labels).lower())
        flags = _RECURSIVE_ANSWER | (0 if address else _NO_SUCH_NAME)
        answers = [address] if address and wanted == _ADDRESS else []
        header = b"".join(
            number.to_bytes(2)
            for number in (int.from_bytes(message[:2]), flags, 1, len(answers), 0, 0)
        )
        records = [
            b"\xc0\x0c\x00\x01\x00\x01" + (60).to_bytes(4) + b"\x00\x04" + socket.inet_aton(a)
            for a in answers
        ]
        return header + question + b"".join(records)
