"""One kept-alive connection to one origin: httpx's transport, without the client around it.

The pool of an httpx client looks at every connection on each request, so fifty requests under way
cost six times the CPU of fifty pools of one; and no redirect, cookie or `.netrc` exists down here,
so a key goes where it was sent and nowhere else. `sniffio` is a dependency for its speed alone:
httpcore asks it for the event loop several times per request, and searches the disk where it is
missing.
"""

from __future__ import annotations

import ssl
from functools import cache
from urllib.request import getproxies, proxy_bypass

import httpx

from skill_delta.errors import ServiceError

CONNECT_SECONDS = 15.0
"""How long opening a connection may take."""


def connection_to(url: httpx.URL) -> httpx.AsyncBaseTransport:
    """A connection for requests to `url`'s origin, one at a time, through the machine's proxy.

    Raises `ServiceError` for a proxy that cannot be used.
    """
    try:
        return httpx.AsyncHTTPTransport(
            verify=_tls(),
            proxy=_proxy_for(url),
            trust_env=False,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
        )
    except (ValueError, ImportError, httpx.InvalidURL):
        # The proxy's URL is not repeated: it may hold a password.
        raise ServiceError(
            f"the proxy that is set for {url.scheme}:// URLs cannot be used: "
            f"unset it, or exempt {url.host} from it with NO_PROXY"
        ) from None


def _proxy_for(url: httpx.URL) -> str | None:
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


@cache
def _tls() -> ssl.SSLContext:
    # One for all connections: reading the certificates takes longer than many requests.
    return httpx.create_ssl_context()
