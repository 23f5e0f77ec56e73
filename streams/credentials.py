"""librdkafka's security settings in Faust's terms, for the consumer is aiokafka and everything else is librdkafka."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from faust import SASLCredentials, SSLCredentials
from faust.types.auth import CredentialsT

from schemas.errors import Misconfigured


def credentials(security: Mapping[str, str]) -> CredentialsT | None:
    """Credentials for Faust; None for a plain connection.

    Raises:
        Misconfigured: the protocol or mechanism is not one that both clients know.
    """
    protocol = security.get("security.protocol", "plaintext").upper()
    if protocol == "PLAINTEXT":
        return None
    if protocol == "SSL":
        return SSLCredentials(context=_context(security))
    if protocol not in ("SASL_PLAINTEXT", "SASL_SSL"):
        raise Misconfigured(f"ROOMKEEPER_KAFKA__SECURITY: security.protocol {protocol} is not known")
    mechanism = security.get("sasl.mechanism", security.get("sasl.mechanisms", "")).upper()
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise Misconfigured(f"ROOMKEEPER_KAFKA__SECURITY: sasl.mechanism {mechanism!r} is neither PLAIN nor SCRAM")
    return SASLCredentials(
        username=security.get("sasl.username"),
        password=security.get("sasl.password"),
        mechanism=mechanism,
        ssl_context=_context(security) if protocol == "SASL_SSL" else None,
    )


def _context(security: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=security.get("ssl.ca.location"))
    if certificate := security.get("ssl.certificate.location"):
        context.load_cert_chain(certificate, security.get("ssl.key.location"), security.get("ssl.key.password"))
    return context
