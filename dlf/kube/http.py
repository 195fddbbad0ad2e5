"""One HTTP request to the API server, and the one mapping of all that can go wrong with it.

Longer than other files, so that no other has to know httpx and its errors.

    4xx, and 3xx                 Rejected      (401 after the credential was asked for anew, once)
    429, 5xx, any broken wire    Unavailable   the same request may work later
    certificate, credential      UsageError    before the first answer; later it is Unavailable

No httpx type leaves this file, except to `body` and `transport`, which it is made of.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import httpcore
import httpx

import dlf
from dlf.errors import UsageError
from dlf.kube.api_errors import Unavailable, error_of
from dlf.kube.body import LogBody
from dlf.kube.cluster_config import ClusterConfig
from dlf.kube.credentials import Credentials
from dlf.kube.request import RESPONSE_TIMEOUT_SECONDS, ApiRequest
from dlf.kube.sockets import Take
from dlf.kube.tls import make_context, tls_failure
from dlf.kube.transport import make_transport

CONNECT_TIMEOUT_SECONDS = 10.0
"""Short: trying again is better than waiting."""

TRANSPORT_ERRORS = (
    httpx.RequestError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    OSError,
)
"""What a broken wire raises; httpcore's and the socket's own come from the raw stream."""

# The errors of httpx and httpcore that may come without words of their own.
_IN_WORDS = {
    "ConnectError": "no connection",
    "ConnectTimeout": "no connection in time",
    "ReadTimeout": "no answer in time",
    "WriteTimeout": "the request could not be sent in time",
    "PoolTimeout": "no free connection in time",
    "ReadError": "the connection broke",
    "WriteError": "the connection broke",
}


class ResponseStream:
    """The body of an answer that goes on for as long as the server likes.

    Args:
        response: with its body still to come.
        read_timeout: seconds that each read may take; None for no limit.
    """

    def __init__(self, response: httpx.Response, read_timeout: float | None) -> None:
        self._body = LogBody(response)
        self._read_timeout = read_timeout

    async def read(self, take: Take | None = None) -> bytes:
        """The next bytes, as many as there are; b"" at a clean end.

        Args:
            take: offered what comes while this waits without limit; what it takes, by returning
                True, is not returned.

        Raises:
            Unavailable: the stream broke, or nothing came.
        """
        try:
            if self._read_timeout is None:
                return await self._body.read(take)
            async with asyncio.timeout(self._read_timeout):
                return await self._body.read()
        except TRANSPORT_ERRORS as error:
            raise _unavailable(error) from error

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
        try:
            self._client = httpx.AsyncClient(
                base_url=config.server,
                headers={
                    "User-Agent": f"dlf/{dlf.__version__}",
                    "Accept": "application/json",
                    "Accept-Encoding": "gzip",
                },
                trust_env=False,
                transport=make_transport(context, config.proxy),
            )
        except httpx.InvalidURL as error:
            raise UsageError(f"{config.origin}: server or proxy-url: {error}") from error

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def fetch(self, request: ApiRequest) -> bytes:
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
    async def stream(self, request: ApiRequest) -> AsyncIterator[ResponseStream]:
        """Send a request and give its answer's body as it arrives.

        Raises:
            Rejected, Unavailable, UsageError: as `fetch`.
        """
        async with self._open(request, {"Accept-Encoding": "identity"}) as response:
            yield ResponseStream(response, request.read_timeout)

    @asynccontextmanager
    async def upgrade(
        self, request: ApiRequest, headers: dict[str, str]
    ) -> AsyncIterator[httpcore.AsyncNetworkStream]:
        """Send a request that turns the connection into one of another protocol, and give that."""
        async with self._open(request, headers) as response:
            yield response.extensions["network_stream"]

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
        """The answer, which is 2xx and whose body is not read yet."""
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
        with _broken_is_unavailable(), self._wrong_is_unavailable_later():
            credential = await self._credentials.headers()
            content_type = {"Content-Type": request.content_type} if request.body else {}
            try:
                built = self._client.build_request(
                    request.method,
                    request.path,
                    params=request.query or None,
                    headers={**headers, **content_type, **credential},
                    content=request.body or None,
                    timeout=httpx.Timeout(
                        RESPONSE_TIMEOUT_SECONDS,
                        connect=CONNECT_TIMEOUT_SECONDS,
                        read=request.read_timeout,
                        pool=None,
                    ),
                    extensions=self._extensions,
                )
                response = await self._client.send(built, stream=True)
            except httpx.InvalidURL as error:
                raise UsageError(f"{self._config.origin}: server: {error}") from error
            except (httpx.ConnectError, ssl.SSLError) as error:
                if wrong := tls_failure(self._config, error):
                    raise wrong from error
                raise
        self._answered = True
        if response.status_code == 401:
            self._credentials.on_unauthorized(credential)
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
    except TRANSPORT_ERRORS as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> Unavailable:
    """The failure in words: what the operating system or the name server says, if it is known."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            # asyncio puts its own words, with the address, into `strerror` of a failed connect.
            number = 0 if isinstance(cause, ssl.SSLError) else cause.errno or 0
            words = os.strerror(number) if number > 0 else cause.strerror
            return Unavailable(words[0].lower() + words[1:])
        cause = cause.__cause__ or cause.__context__
    name = type(error).__name__
    return Unavailable(str(error) or _IN_WORDS.get(name, name))


def _retry_after(response: httpx.Response) -> float:
    """Seconds of the Retry-After header. Kubernetes sends a number; a date counts as nothing."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0
