"""A kubelet's endpoint that plays pods: what it answers to the real API server.

    python -m bench.kubelet CERTIFICATE KEY ADDRESS PORT PODS RATE

The API server asks for `/containerLogs/NAMESPACE/POD/CONTAINER`. The containers have written
nothing before, so a request without `follow=true` gets an empty answer. As soon as all logs are
followed, each gets RATE lines in a second, evenly spread in time, until a follower leaves.
"""

import asyncio
import contextlib
import ssl
import sys
import time

from bench.server import chunk, live_line

LENGTH = 107  # bytes of a message
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


class Kubelet:
    """Answers requests for logs, and writes the live lines."""

    def __init__(self, pods: int, rate: float) -> None:
        self._pods = pods
        self._rate = rate
        self._followed: dict[str, asyncio.StreamWriter] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                path, _, query = request.split(b" ")[1].decode().partition("?")
                writer.write(_HEAD)
                if "follow=true" not in query:
                    writer.write(chunk(b""))
                    continue
                self._followed[path] = writer
                await reader.read()
                break
            self._followed = {k: w for k, w in self._followed.items() if w is not writer}
        writer.close()

    async def write_live(self) -> None:
        """Write lines whenever all logs are followed."""
        while True:
            await asyncio.sleep(0.1)
            if len(self._followed) == self._pods:
                await asyncio.sleep(2)
                await self._write_while_followed()

    async def _write_while_followed(self) -> None:
        writers = list(self._followed.values())
        begun, number = time.monotonic(), 0
        while len(self._followed) == self._pods:
            due = (time.monotonic() - begun) * self._pods * self._rate
            while number < due:
                now = time.time_ns()
                writers[number % self._pods].write(chunk(live_line(now, LENGTH)))
                number += 1
            await asyncio.sleep(0.0005)


async def main(certificate: str, key: str, address: str, port: int, kubelet: Kubelet) -> None:
    """Serve until killed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with await asyncio.start_server(
        kubelet.answer, address, port, ssl=context, backlog=4096, ssl_handshake_timeout=600
    ):
        await kubelet.write_live()


if __name__ == "__main__":
    _certificate, _key, _address, _port, _pods, _rate = sys.argv[1:]
    asyncio.run(main(_certificate, _key, _address, int(_port), Kubelet(int(_pods), float(_rate))))
