"""Certificates and kubeconfigs of one cluster; the authority's key lives in its directory only."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Identity:
    """A certificate on disk, in PEM."""

    certificate: Path
    key: Path


class Authority:
    """The cluster's own certificate authority, writing what it issues into ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._ca = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.certificate = directory / "ca.crt"
        self.key = directory / "ca.key"
        self._ca.cert_pem.write_to_path(self.certificate)
        self._ca.private_key_pem.write_to_path(self.key)

    def issue(self, name: str, *hosts: str, user: str, group: str | None = None) -> Identity:
        """Return a certificate for serving at ``hosts`` and for being ``user`` in ``group``."""
        names = hosts or (f"{name}.invalid",)  # Go refuses a certificate for no name at all
        leaf = self._ca.issue_cert(
            *names, common_name=user, organization_name=group, key_type=trustme.KeyType.ECDSA
        )
        identity = Identity(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        leaf.cert_chain_pems[0].write_to_path(identity.certificate)
        leaf.private_key_pem.write_to_path(identity.key)
        return identity

    def kubeconfig(
        self, path: Path, server: str, user: Identity | str, *, namespace: str = "default"
    ) -> Path:
        """Write a kubeconfig for a certificate, or for a bearer token given as text.

        Everything is embedded, so the file works from wherever it is copied to.
        """
        authority = _base64(self.certificate.read_bytes())
        who = (
            {"token": user}
            if isinstance(user, str)
            else {
                "client-certificate-data": _base64(user.certificate.read_bytes()),
                "client-key-data": _base64(user.key.read_bytes()),
            }
        )
        cluster = {"server": server, "certificate-authority-data": authority}
        context = {"cluster": "test", "user": "test", "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": who}],
            "contexts": [{"name": "test", "context": context}],
            "current-context": "test",
        }
        path.write_text(json.dumps(config, indent=1))  # JSON is YAML
        path.chmod(0o600)
        return path


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
