"""One HTTP request to the API server, and the one mapping of all that can go wrong with it.

No other module has to know httpx and its errors.

4xx, and 3xx                         Rejected     (401: after renewing the credential, once)
429, 5xx, a broken connection        Unavailable  the same request may work later
certificate, credential, proxy       UsageError   before the first response; later Unavailable
"""

import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import httpx

import dlf
from dlf.errors import UsageError
from dlf.kube.api_errors import Unavailable, error_of
from dlf.kube.cluster_config import ClusterConfig
from dlf.kube.connect import ProxyError
from dlf.kube.credentials import Credentials
from dlf.kube.http1 import Body
from dlf.kube.request import ApiRequest
from dlf.kube.sockets import Take
from dlf.kube.tls import make_context, tls_failure
from dlf.kube.transport import BODY, BULK, TAKES_TURNS, Transport

_TRANSPORT_ERRORS = (httpx.RequestError, EOFError, OSError)
"""What a broken connection raises; httpx's own are about framing and content encoding."""


class ResponseStream:
    """The body of a response that goes on for as long as the server likes."""

    def __init__(self, body: Body) -> None:
        self._body = body

    async def read(self, take: Take | None = None) -> bytes:
        """The next bytes, as many as there are; b"" at a clean end.

        Args:
            take: offered what comes while this waits without limit; what it takes, by returning
                True, is not returned.

        Raises:
            Unavailable: the stream broke, or nothing came.
        """
        try:
            return await self._body.read(take)
        except _TRANSPORT_ERRORS as error:
            raise _unavailable(error) from error

    async def write(self, data: bytes) -> None:
        """Send on a connection that was upgraded to another protocol.

        Raises:
            Unavailable: the connection broke.
        """
        with _broken_is_unavailable():
            await self._body.write(data)

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines, without their newline; an unfinished last one is left out.

        Raises:
            Unavailable: the stream broke.
        """
        parts: list[bytes] = []
        while batch := await self.read():
            first, *complete = batch.split(b"\n")
            parts.append(first)
            for line in complete:
                yield b"".join(parts)
                parts = [line]


class HttpClient:
    """Requests to one API server.

    Raises:
        UsageError: a certificate of the configuration cannot be used.
    """

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._credentials = Credentials(config)
        self._certificate = self._credentials.certificate
        self._had_response = False
        context = make_context(config, self._certificate)
        try:
            self._transport = Transport(
                config.server, context, config.proxy, config.tls_server_name
            )
            self._client = httpx.AsyncClient(
                base_url=config.server,
                headers={
                    "User-Agent": f"dlf/{dlf.__version__}",
                    "Accept": "application/json",
                    "Accept-Encoding": "gzip",
                },
                trust_env=False,
                transport=self._transport,
            )
        except httpx.InvalidURL as error:
            raise UsageError(f"{config.origin}: server or proxy: {error}") from error

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def fetch(self, request: ApiRequest) -> bytes:
        """Send a request and return the whole body of its response.

        Raises:
            Rejected: the server refused.
            Unavailable: there was no response, or 429 or 5xx.
            UsageError: certificate, credential or proxy cannot be used.
        """
        async with self._open(request) as response:
            with _broken_is_unavailable():
                return await response.aread()

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ResponseStream]:
        """Send a request and yield its response's body as it arrives.

        Raises:
            Rejected, Unavailable, UsageError: as `fetch`.
        """
        async with self._open(request, {"Accept-Encoding": "identity"}) as response:
            yield ResponseStream(response.extensions[BODY])

    @asynccontextmanager
    async def upgrade(
        self, request: ApiRequest, headers: dict[str, str]
    ) -> AsyncIterator[ResponseStream]:
        """Send a request that turns its connection into one of another protocol; yield that.

        Raises:
            Rejected, Unavailable, UsageError: as `fetch`.
        """
        async with self._open(request, headers) as response:
            yield ResponseStream(response.extensions[BODY])

    @asynccontextmanager
    async def _open(
        self, request: ApiRequest, headers: dict[str, str] | None = None
    ) -> AsyncIterator[httpx.Response]:
        response = await self._send(request, headers or {})
        try:
            yield response
        finally:
            await response.aclose()

    async def _send(self, request: ApiRequest, headers: dict[str, str]) -> httpx.Response:
        """The response, which is 2xx and whose body is not read yet."""
        response = await self._send_once(request, headers)
        if response.status_code == 401:
            await response.aclose()
            response = await self._send_once(request, headers)
        if response.is_success or response.status_code == httpx.codes.SWITCHING_PROTOCOLS:
            return response
        try:
            with _broken_is_unavailable():
                body = await response.aread()
        finally:
            await response.aclose()
        raise error_of(request.action, response.status_code, body, _retry_after(response))

    async def _send_once(self, request: ApiRequest, headers: dict[str, str]) -> httpx.Response:
        with _broken_is_unavailable(), self._unusable_is_unavailable_later():
            credential = await self._credential()
            content_type = {"Content-Type": request.content_type} if request.body else {}
            try:
                response = await self._client.send(
                    self._client.build_request(
                        request.method,
                        request.path,
                        params=request.query or None,
                        headers={**headers, **content_type, **credential},
                        content=request.body or None,
                        timeout=request.read_timeout,
                        extensions=_extensions(request),
                    ),
                    stream=True,
                )
            except httpx.InvalidURL as error:
                raise UsageError(f"{self._config.origin}: server: {error}") from error
            except ProxyError as error:
                raise UsageError(
                    str(error), f"the proxy is named by {self._config.proxy_origin}"
                ) from error
            except ssl.SSLError as error:
                if unusable := tls_failure(self._config, error):
                    raise unusable from error
                raise
        self._had_response = True
        if response.status_code == 401:
            self._credentials.on_unauthorized(credential)
        return response

    async def _credential(self) -> dict[str, str]:
        """The headers to send now. A renewed client certificate retires all connections."""
        headers = await self._credentials.headers()
        if self._certificate != (certificate := self._credentials.certificate):
            self._transport.use_context(make_context(self._config, certificate))
            self._certificate = certificate
        return headers

    @contextmanager
    def _unusable_is_unavailable_later(self) -> Iterator[None]:
        """What worked once is not misconfigured but broken: certificates and clouds come back."""
        try:
            yield
        except UsageError as error:
            if self._had_response:
                raise Unavailable(error.message) from error
            raise


def _extensions(request: ApiRequest) -> dict[str, bool]:
    named = {TAKES_TURNS: request.takes_turns, BULK: request.bulk}
    return {name: True for name, wanted in named.items() if wanted}


@contextmanager
def _broken_is_unavailable() -> Iterator[None]:
    try:
        yield
    except _TRANSPORT_ERRORS as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> Unavailable:
    """The failure in words: what the operating system or the name server says, if it is known."""
    if isinstance(error, OSError) and error.strerror:
        # asyncio puts its own words, with the address, into `strerror` of a failed connect.
        number = 0 if isinstance(error, ssl.SSLError) else error.errno or 0
        words = os.strerror(number) if number > 0 else error.strerror
        return Unavailable(words[0].lower() + words[1:])
    return Unavailable(str(error) or type(error).__name__)


def _retry_after(response: httpx.Response) -> float:
    """Seconds of the Retry-After header. Kubernetes sends a number; a date counts as nothing."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0
