"""Which addresses a model may have. A server's own network is allowed; what only the machine itself should ask is not.

Addresses of the link, where clouds keep the machine's own credentials, are refused when a model is set up, again before each
batch, and of each connection before anything is sent, as a name may point elsewhere by then. Loopback and private ones are where own servers are.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

SCHEMES = ("http", "https")
_METADATA_HOSTS = {
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
}
# Outside the link-local ranges, in the order of their providers' documentation.
_METADATA = {"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"}
_METADATA_ADDRESSES = {ipaddress.ip_address(one) for one in _METADATA}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_address(url: str) -> None:
    """Raises ValidationError unless ``url`` may be a model's address. A host that has no address now is let through."""
    host = _host(url)
    if refused := refusal(host):
        raise ValidationError(f"This address is refused: {refused}.")


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  reading it is what checks it
    except ValueError as error:
        raise ValidationError(f"This is not an address: {error}.") from None
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ValidationError("The address must start with http:// or https://, and name a host.")
    if "@" in parts.netloc:
        raise ValidationError("The address must hold no user name or password: they would be shown with it.")
    if parts.query or parts.fragment:
        raise ValidationError("The address must end with its path: no ? and no #.")
    return parts.hostname


def refusal(host: str) -> str:
    """Why a host must not be asked; empty when it may be. Looks its name up."""
    if host.rstrip(".").lower() in _METADATA_HOSTS:
        return f"{host} is a cloud's metadata service"
    return next((reason for address in _addresses(host) if (reason := _reason(address))), "")


def refusal_of(address: str) -> str:
    """Why this address, as numbers, must not be asked; empty when it may be."""
    return _reason(ipaddress.ip_address(address.partition("%")[0]))


def _addresses(host: str) -> list[Address]:
    """What a name or any spelling of a number (0x7f000001, 127.1) stands for; nothing while it cannot be found."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]


def _reason(address: Address) -> str:
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
    if inner.is_loopback:
        return ""
    if inner in _METADATA_ADDRESSES:
        return f"{address} is a cloud's metadata service"
    if inner.is_link_local:
        return f"{address} is an address of the link, where clouds keep the machine's credentials"
    if inner.is_multicast or inner.is_unspecified or inner.is_reserved:
        return f"{address} is no host's address"
    return ""
