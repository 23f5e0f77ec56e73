"""HTTP to servers on this machine."""

from __future__ import annotations

import ssl

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For `verify=`: without it httpx reads all authorities of the web for each client, at 20 ms of processor time."""
