"""TLS towards the API server: always verified, unless the kubeconfig says otherwise."""

import ssl
import tempfile
from pathlib import Path

from dlf.errors import UsageError
from dlf.kube.cluster_config import ClientCertificate, ClusterConfig

SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where Linux distributions keep their authorities; a static binary has no path of its own."""


def make_context(
    config: ClusterConfig, certificate: ClientCertificate | None = None
) -> ssl.SSLContext:
    """TLS 1.2 or later with the authorities of `config` and this client certificate.

    Raises:
        UsageError: a certificate cannot be read, or there are no authorities to verify with.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate:
        _load(context, certificate)
    if not config.server.startswith("https:"):
        return context
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _trust(context, config)
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


def _load(context: ssl.SSLContext, pair: ClientCertificate) -> None:
    # OpenSSL reads a pair from files only. This one is readable by us alone, and gone at once.
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + b"\n" + pair.key)
        file.flush()
        try:
            context.load_cert_chain(file.name, password=_no_password)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise UsageError(f"{pair.origin}: client certificate and key: {reason}") from error


def _no_password() -> str:
    """Keep OpenSSL from asking for it on the terminal."""
    raise ValueError("the key is encrypted; dlf cannot ask for its password")


def tls_failure(config: ClusterConfig, error: ssl.SSLError) -> UsageError | None:
    """Why no TLS connection is possible, if that is what `error` says.

    None for a connection that merely broke during the handshake.
    """
    server, origin = config.server, config.origin
    match error:
        case ssl.SSLEOFError() | ssl.SSLSyscallError() | ssl.SSLZeroReturnError():
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
