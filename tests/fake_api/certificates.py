"""A certificate authority of the tests' own, and what it signs."""

import datetime
import ssl

import trustme


class Authority:
    """Signs certificates for the server and its clients."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.pem = self._ca.cert_pem.bytes()

    def server(self, *names: str, expired: bool = False, clients: bool = False) -> ssl.SSLContext:
        """A server's side of TLS.

        Args:
            names: host names and addresses of the certificate; 127.0.0.1 when none is given.
            expired: the certificate is not valid any more.
            clients: demand a certificate, of this authority, of clients.
        """
        ended = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) if expired else None
        began = datetime.datetime(2019, 1, 1, tzinfo=datetime.UTC) if expired else None
        issued = self._ca.issue_cert(*(names or ("127.0.0.1",)), not_after=ended, not_before=began)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issued.configure_cert(context)
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            self._ca.configure_trust(context)
        return context

    def client(self, name: str = "user@example.org") -> tuple[bytes, bytes]:
        """PEM of a client's certificate and of its key."""
        issued = self._ca.issue_cert(name)
        chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
        return chain, issued.private_key_pem.bytes()
