"""Verifies events of the service, signed as in Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

# Maximum difference in seconds between `webhook-timestamp` and `now`. A larger one may mean a replay.
_TOLERANCE = 5 * 60


class WebhookError(ValueError):
    """The request isn't an event that the service has signed recently."""


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    now: float | None = None,
) -> dict[str, Any]:
    """Returns the event of a request, after verifying its signature under one of the secrets.

    `body` is the request's raw body. While a secret is being replaced, pass the new and the old one.
    `now` is in seconds since 1970.
    """
    if not isinstance(body, (bytes, bytearray, memoryview, str)):
        raise TypeError("Pass the request's raw body, as text or bytes: its signature doesn't fit parsed JSON.")
    # A text with half of a surrogate pair isn't what was signed.
    payload = body.encode(errors="replace") if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, timestamp = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].split()
    except KeyError as error:
        raise WebhookError(f"The request has no header {error.args[0]}.") from None
    _check_time(timestamp, time.time() if now is None else now)
    signed = f"{id}.{timestamp}.".encode() + payload
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    expected = [
        b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in keys
    ]
    found = [
        hmac.compare_digest(signature.encode(), one) for signature in signatures for one in expected
    ]
    if not any(found):
        raise WebhookError("No signature of the request is made with this secret.")
    try:
        event: dict[str, Any] = json.loads(payload)
    except ValueError:
        raise WebhookError("The event isn't JSON.") from None
    return event


def _check_time(timestamp: str, now: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookError("The header webhook-timestamp isn't a number of seconds.")
    if abs(now - int(timestamp)) > _TOLERANCE:
        raise WebhookError("The event wasn't signed within the last five minutes.")


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("A webhook's secret is whsec_ and base64.")
    return key
