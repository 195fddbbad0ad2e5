"""Which proxy the environment names for a URL, by the rules of Go's net/http, and so of kubectl.

HTTPS_PROXY is for https:// URLs, HTTP_PROXY for http://, NO_PROXY for exceptions. Each may be in
lower case; upper case comes first. Loopback addresses are never proxied. ALL_PROXY is not read.

Rules: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from dlf.errors import UsageError


def proxy_from_environment(server: str, env: Mapping[str, str]) -> tuple[str, str]:
    """URL of the proxy for `server`, and the variable that names it; both "" for none.

    Raises:
        UsageError: the variable is not the URL of an HTTP or HTTPS proxy.
    """
    parts = urlsplit(server)
    variable = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    name = variable if env.get(variable) else variable.lower()
    url = env.get(name, "")
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    no_proxy = env.get("NO_PROXY") or env.get("no_proxy", "")
    if not url or _is_loopback(host) or _is_excepted(host, port, no_proxy):
        return "", ""
    if "://" not in url:
        url = f"http://{url}"
    try:
        proxy = urlsplit(url)
        valid = proxy.scheme in ("http", "https") and proxy.hostname and proxy.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(
            f"{name} is `{url}`, not http://HOST:PORT or https://HOST:PORT",
            f"NO_PROXY={host} connects to the API server without a proxy",
        )
    return url.rstrip("/"), name


def _is_excepted(host: str, port: int, no_proxy: str) -> bool:
    return any(_matches(host, port, entry.strip().lower()) for entry in no_proxy.split(","))


def _matches(host: str, port: int, entry: str) -> bool:
    """Whether an entry of NO_PROXY is for this server: `*`, a CIDR, or HOST, perhaps with :PORT.

    A name is also for its subdomains; with a dot in front, `.NAME` or `*.NAME`, only for them.
    """
    if entry == "*":
        return True
    if "/" in entry:
        try:
            network = ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
        address = _address(host)
        return address is not None and address in network
    name, colon, digits = entry.rpartition(":")
    if colon and digits.isdecimal() and (":" not in name or name.endswith("]")):
        if int(digits) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    if not entry:
        return False
    if address := _address(entry):
        return address == _address(host)
    name = entry.removeprefix("*") if entry.startswith("*.") else entry
    return host.endswith("." + name.removeprefix(".")) or host == name


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or bool(address and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
