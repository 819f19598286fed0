"""Makes a call again when the service asks for it, or when the connection breaks."""

import random
import time
import uuid

import httpx

# Before the second attempt, where the service names no time; it doubles with each. Seconds.
_FIRST = 0.5
_LONGEST = 15

# The first call with this `Idempotency-Key` is still under way.
_IN_PROGRESS = b'"idempotency_key_in_use"'


class Retrying(httpx.BaseTransport):
    """A transport that waits up to `patience` seconds for one call, between attempts."""

    def __init__(self, patience: float):
        self._patience = patience
        self._transport = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        # One for all attempts, so that they can be told to be one.
        if request.method == "POST" and "Idempotency-Key" not in request.headers:
            request.headers["Idempotency-Key"] = str(uuid.uuid4())
        left = self._patience
        failures = 0
        while True:
            response = None
            try:
                response = self._transport.handle_request(request)
                response.read()
                if not _is_momentary(response):
                    return response
            except httpx.TransportError as error:
                response, failure = None, error
            after = response.headers.get("Retry-After", "") if response is not None else ""
            asked = int(after) if after.isdigit() else min(_FIRST * 2**failures, _LONGEST)
            pause = max(asked, _FIRST) * random.uniform(1, 1.5)
            left -= pause
            if left < 0:
                if response is None:
                    raise failure
                return response
            failures += 1
            time.sleep(pause)

    def close(self) -> None:
        self._transport.close()


def _is_momentary(response: httpx.Response) -> bool:
    if response.status_code == 409:
        return _IN_PROGRESS in response.content
    return response.status_code in (429, 502, 503, 504)
