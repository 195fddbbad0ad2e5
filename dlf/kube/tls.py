"""TLS towards the API server: always verified, unless the kubeconfig says otherwise."""

import ssl
import tempfile
from pathlib import Path

from dlf.errors import UsageError
from dlf.kube.cluster_config import ClusterConfig

SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where Linux distributions keep their authorities; a static binary has no path of its own."""


def make_context(config: ClusterConfig) -> ssl.SSLContext:
    """TLS 1.2 or later with the authorities and the client certificate of `config`.

    Raises:
        UsageError: a certificate cannot be read, or there are no authorities to verify with.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not config.server.startswith("https:"):
        return context
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _trust(context, config)
    if config.certificate:
        load_client_certificate(context, config.certificate, config.key, config.origin)
    return context


def _trust(context: ssl.SSLContext, config: ClusterConfig) -> None:
    try:
        if config.ca:
            context.load_verify_locations(cadata=config.ca.decode("ascii"))
            return
        ca_file = config.ca_file or next((f for f in SYSTEM_FILES if Path(f).exists()), "")
        if ca_file:
            context.load_verify_locations(cafile=ca_file)
            return
    except (OSError, ValueError) as error:
        where = "certificate-authority" if config.ca else config.ca_file
        raise UsageError(f"{config.origin}: {where} holds no certificate: {error}") from error
    raise UsageError(
        f"{config.origin}: no certificate-authority, and this machine has none of its own",
        "SSL_CERT_FILE names a PEM file of authorities",
    )


def load_client_certificate(
    context: ssl.SSLContext, certificate: bytes, key: bytes, origin: str
) -> None:
    """Present this certificate on connections made from now on.

    Raises:
        UsageError: they are not a pair of PEM certificate and key without password.
    """
    # OpenSSL reads a pair from files only; these are ours alone (0600) and gone at once.
    with tempfile.NamedTemporaryFile() as pair:
        pair.write(certificate + b"\n" + key)
        pair.flush()
        try:
            context.load_cert_chain(pair.name, password=_no_password)
        except (OSError, ValueError) as error:
            words = getattr(error, "reason", None) or error
            raise UsageError(f"{origin}: client certificate and key: {words}") from error


def _no_password() -> str:
    """Refuse to ask on the terminal, which is what OpenSSL would do."""
    raise ValueError("the key is encrypted; there is nobody to ask for its password")


def tls_failure(config: ClusterConfig, error: BaseException | None) -> UsageError | None:
    """Say in words what TLS has against this connection, if that is what `error` is about.

    A connection that merely broke during the handshake is none of this: None.
    """
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    server, origin = config.server, config.origin
    match error:
        case None | ssl.SSLEOFError() | ssl.SSLSyscallError() | ssl.SSLZeroReturnError():
            return None
        case ssl.SSLCertVerificationError(verify_message=why):
            return UsageError(
                f"the certificate of {server} is not accepted: {why}",
                f"check server, certificate-authority and tls-server-name of {origin}, "
                "and this machine's clock",
            )
        case ssl.SSLError(reason=str(why)) if "ALERT" in why:
            return UsageError(
                f"{server} refused the TLS connection: {why.lower().replace('_', ' ')}",
                f"check client-certificate and client-key of {origin}",
            )
        case _:
            return UsageError(
                f"no TLS connection to {server}: {error.reason or error}",
                "is this the HTTPS port of an API server?",
            )
