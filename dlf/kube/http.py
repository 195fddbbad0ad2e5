"""One HTTP request to the API server, and the one mapping of all that can go wrong with it.

    4xx, and 3xx                 Rejected      (401 after the credential was asked for anew, once)
    429, 5xx, any broken wire    Unavailable   the same request may work later
    certificate, credential      UsageError    before the first answer; later it is Unavailable

No httpx type leaves this file, except to the body reader beside it.
"""

import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import httpcore
import httpx
import msgspec

import dlf
from dlf.errors import UsageError
from dlf.kube.config import ClusterConfig
from dlf.kube.credentials import Credentials
from dlf.kube.refusal import Action, Unavailable, failure
from dlf.kube.tls import certificate_failure, distrust, make_context

CONNECT = 10.0
ANSWER = 65.0
"""Seconds until the answer; the API server itself gives up a request after 60."""

# A peer that vanished without a word is noticed after a minute, however long a read may take.
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)

BROKEN = (
    httpx.RequestError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    OSError,
)
"""What a broken wire raises; httpcore's and the socket's own come from the raw stream."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to send.

    Attributes:
        action: what it means, for messages.
        path: below the server's URL.
        patience: seconds that each read may take; None for no limit.
    """

    action: Action
    path: str
    method: str = "GET"
    query: dict[str, str] = {}
    body: bytes = b""
    content_type: str = "application/json"
    patience: float | None = ANSWER


class Stream:
    """The body of an answer that goes on for as long as the server likes."""

    def __init__(self, response: httpx.Response) -> None:
        self._chunks = response.aiter_raw()

    async def read(self) -> bytes:
        """The next bytes, as many as there are; b"" at a clean end.

        Raises:
            Unavailable: the stream broke.
        """
        with _broken_is_unavailable():
            return await anext(self._chunks, b"")


class Http:
    """The connections to one API server.

    Raises:
        UsageError: a certificate of the configuration cannot be used.
    """

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        context = make_context(config)
        self._credentials = Credentials(config, context)
        self._extensions = (
            {"sni_hostname": config.tls_server_name} if config.tls_server_name else {}
        )
        self._answered = False
        # The transport is made here so that httpx never loads authorities of its own.
        self._client = httpx.AsyncClient(
            base_url=config.server,
            headers={
                "User-Agent": f"dlf/{dlf.__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
            },
            trust_env=False,
            transport=httpx.AsyncHTTPTransport(
                verify=context,
                trust_env=False,
                proxy=_proxy(config.proxy, context),
                limits=httpx.Limits(max_keepalive_connections=10, keepalive_expiry=60.0),
                socket_options=KEEPALIVE,
            ),
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def fetch(self, request: Request) -> bytes:
        """Send a request and return the whole body of its answer.

        Raises:
            Rejected: the server said no.
            Unavailable: there was no answer, or 429 or 5xx.
            UsageError: certificate or credential are of no use.
        """
        async with self._open(request) as response:
            with _broken_is_unavailable():
                return await response.aread()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send a request and give its answer's body as it arrives.

        Raises:
            Rejected, Unavailable, UsageError: as `fetch`.
        """
        async with self._open(request, {"Accept-Encoding": "identity"}) as response:
            yield Stream(response)

    @asynccontextmanager
    async def _open(
        self, request: Request, headers: dict[str, str] | None = None
    ) -> AsyncIterator[httpx.Response]:
        response = await self._send(request, headers or {})
        try:
            yield response
        finally:
            await response.aclose()

    async def _send(self, request: Request, headers: dict[str, str]) -> httpx.Response:
        """The answer, which is 2xx and whose body is not read yet."""
        response = await self._send_once(request, headers)
        if response.status_code == 401:
            await response.aclose()
            response = await self._send_once(request, headers)
        if response.is_success:
            return response
        try:
            with _broken_is_unavailable():
                body = await response.aread()
        finally:
            await response.aclose()
        raise failure(request.action, response.status_code, body, _retry_after(response))

    async def _send_once(self, request: Request, headers: dict[str, str]) -> httpx.Response:
        with _broken_is_unavailable(), self._wrong_is_unavailable_later():
            credential = await self._credentials.headers()
            content_type = {"Content-Type": request.content_type} if request.body else {}
            try:
                built = self._client.build_request(
                    request.method,
                    request.path,
                    params=request.query,
                    headers={**headers, **content_type, **credential},
                    content=request.body or None,
                    timeout=httpx.Timeout(
                        ANSWER, connect=CONNECT, read=request.patience, pool=None
                    ),
                    extensions=self._extensions,
                )
                response = await self._client.send(built, stream=True)
            except httpx.InvalidURL as error:
                raise UsageError(f"{self._config.origin}: server: {error}") from error
            except httpx.ConnectError as error:
                if distrusted := certificate_failure(error):
                    raise distrust(self._config, distrusted) from error
                raise
        self._answered = True
        if response.status_code == 401:
            self._credentials.refused(credential)
        return response

    @contextmanager
    def _wrong_is_unavailable_later(self) -> Iterator[None]:
        """What once worked is not wrong but broken: certificates and clouds come back."""
        try:
            yield
        except UsageError as error:
            if self._answered:
                raise Unavailable(error.message) from error
            raise


@contextmanager
def _broken_is_unavailable() -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        words = str(error)
        kind = type(error).__name__
        raise Unavailable(f"{kind}: {words}" if words else kind) from error


def _retry_after(response: httpx.Response) -> float:
    """Seconds of the Retry-After header. Kubernetes sends a number; a date counts as nothing."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0


def _proxy(url: str, context: ssl.SSLContext) -> httpx.Proxy | None:
    return httpx.Proxy(url, ssl_context=context) if url else None
