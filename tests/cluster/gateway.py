"""The thread that lives in the sandbox's network: a door to the API server, and cluster DNS.

A socket belongs to the network of the thread that makes it, so the listener made here by the
caller is reachable on the machine's loopback while its connections go on inside the sandbox.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable

import httpx

from .dns import ServiceName, parse
from .pki import Authority, Identity
from .sandbox import NODE_ADDRESS

API_PORT = 443
INSIDE = f"https://127.0.0.1:{API_PORT}"
"""URL of the API server inside the sandbox."""


class Gateway:
    """Forwards ``server`` (outside) to the API server (inside) and answers pods' DNS queries."""

    def __init__(self, enter: Callable[[], None], authority: Authority, admin: Identity) -> None:
        self._enter = enter
        self._tls = ssl.create_default_context(cafile=authority.certificate)
        self._tls.load_cert_chain(admin.certificate, admin.key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.server = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        """URL of the API server outside the sandbox."""
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._connections = set[asyncio.Task[None]]()  # asyncio forgets half-closed ones
        self._thread = threading.Thread(target=self._live, name="cluster-gateway", daemon=True)

    def start(self) -> None:
        """Begin to forward and to answer."""
        self._thread.start()

    def answers(self, url: str) -> bool:
        """Tell whether ``url``, asked for from inside, is answered with success."""

        async def ask() -> bool:
            async with httpx.AsyncClient(trust_env=False) as client:
                return (await client.get(url)).is_success

        try:
            return asyncio.run_coroutine_threadsafe(ask(), self._loop).result()
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """Close everything; returns when the thread has ended."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()
        self._listener.close()

    def _live(self) -> None:
        self._enter()
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with httpx.AsyncClient(base_url=INSIDE, verify=self._tls, trust_env=False) as api:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as queries:
                queries.setblocking(False)
                queries.bind((NODE_ADDRESS, 53))
                answering = asyncio.create_task(_answer_queries(queries, api))
                async with await asyncio.start_server(self._accept, sock=self._listener):
                    await self._stopped.wait()
                answering.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(_forward(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)


async def _answer_queries(queries: socket.socket, api: httpx.AsyncClient) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as answers:
        while True:
            message, peer = await loop.sock_recvfrom(queries, 512)
            answers.create_task(_answer(queries, api, message, peer))


async def _answer(
    queries: socket.socket, api: httpx.AsyncClient, message: bytes, peer: tuple[str, int]
) -> None:
    """Answer from the API as it is now; say nothing to what is no query."""
    with contextlib.suppress(IndexError, struct.error, UnicodeDecodeError, httpx.HTTPError):
        query = parse(message)
        service = query.service()
        reply = query.reply(await _addresses(api, service) if service else [])
        await asyncio.get_running_loop().sock_sendto(queries, reply, peer)


async def _addresses(api: httpx.AsyncClient, name: ServiceName) -> list[str]:
    """Return the ClusterIP of a service, or the ready pods behind a headless one."""
    service = await api.get(f"/api/v1/namespaces/{name.namespace}/services/{name.service}")
    if service.status_code == httpx.codes.NOT_FOUND:
        return []
    if (address := service.raise_for_status().json()["spec"]["clusterIP"]) != "None":
        return [] if name.host else [address]
    slices = await api.get(
        f"/apis/discovery.k8s.io/v1/namespaces/{name.namespace}/endpointslices",
        params={"labelSelector": f"kubernetes.io/service-name={name.service}"},
    )
    return [
        address
        for endpoints in slices.raise_for_status().json()["items"]
        for endpoint in endpoints["endpoints"] or []
        if endpoint["conditions"].get("ready") and name.host in (None, endpoint.get("hostname"))
        for address in endpoint["addresses"]
    ]


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes both ways until both sides have ended or one has failed; then close both."""
    writers = [writer]
    try:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", API_PORT)
        writers.append(inner_writer)
        async with asyncio.TaskGroup() as both:
            both.create_task(_pump(reader, inner_writer))
            both.create_task(_pump(inner_reader, writer))
    except* OSError:
        pass
    finally:
        for each in writers:
            each.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()
