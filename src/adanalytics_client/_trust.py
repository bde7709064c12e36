"""Which certificates our own connections trust."""

import ssl

import httpx

from adanalytics_client.errors import ConfigurationError


def trust() -> ssl.SSLContext:
    """Settings of TLS with the certificates that httpx trusts: its own, or the environment's.

    Reading them takes longer than a hundred requests.

    Raises:
        ConfigurationError: when these cannot be read.
    """
    try:
        context = httpx.create_ssl_context()
    except OSError as error:
        raise ConfigurationError(
            f"The certificates to trust cannot be read: {error}. "
            "Correct the environment variable SSL_CERT_FILE or SSL_CERT_DIR."
        ) from None
    context.set_alpn_protocols(["http/1.1"])
    return context
