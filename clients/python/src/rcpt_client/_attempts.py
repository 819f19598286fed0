"""Retries: when a call is repeated, and when its time has run out."""

from __future__ import annotations

import random
import time
import uuid
from contextvars import ContextVar

import httpx

from ._errors import RcptError

# Pause before the first retry if the service doesn't name one, in seconds. Each further pause is
# twice as long.
_FIRST = 0.5
_LONGEST = 15

# Time limit of an attempt: the service responds to a check within 12 seconds, even if only with an
# error. In seconds.
_ATTEMPT = 15

# Shortest time of an attempt, in seconds; a quarter of the time of a call under 4 s. With less, the call would end with
# "no answer" instead of the service's last response.
_RESERVE = 1

# Code of a 409: the first call with this `Idempotency-Key` is still in flight.
_IN_PROGRESS = b'"idempotency_key_in_use"'


# Time limit of the current call in seconds, in place of the client's.
call_timeout: ContextVar[float | None] = ContextVar("call_timeout", default=None)


def checked_timeout(seconds: float) -> float:
    if not seconds > 0:
        raise ValueError("The timeout must be more than 0 seconds.")
    return seconds


class Attempts:
    """The attempts of one call, which takes at most `timeout` seconds, pauses included."""

    def __init__(self, request: httpx.Request, timeout: float):
        timeout = call_timeout.get() or timeout
        self._has_key = "Idempotency-Key" in request.headers
        # All attempts share one key, so that the service recognises them as one request.
        if request.method == "POST" and not self._has_key:
            request.headers["Idempotency-Key"] = str(uuid.uuid4())
        self._timeout = timeout
        self._end = time.monotonic() + timeout
        self._failures = 0
        self._unanswered = False

    def seconds(self) -> float:
        """Returns the time limit of the next attempt, in seconds."""
        return max(min(self._end - time.monotonic(), _ATTEMPT), 0.001)

    def pause(self, outcome: httpx.Response | RcptError) -> float | None:
        """Returns the seconds until the next attempt; None if the call ends with this outcome."""
        asked = ""
        if isinstance(outcome, httpx.Response):
            if not _is_momentary(outcome):
                return None
            asked = outcome.headers.get("Retry-After", "")
        else:
            self._unanswered = True
        seconds = int(asked) if asked.isdigit() else min(_FIRST * 2**self._failures, _LONGEST)
        pause = max(seconds, _FIRST) * random.uniform(1, 1.5)
        if time.monotonic() + pause + min(_RESERVE, self._timeout / 4) > self._end:
            return None
        self._failures += 1
        return pause

    def result(self, outcome: httpx.Response | RcptError) -> httpx.Response:
        """Returns the response that ends the call. Raises an error without one, or while an earlier attempt runs."""
        if isinstance(outcome, RcptError):
            raise outcome
        # An earlier attempt of this call got no answer and is still in flight.
        if _is_in_progress(outcome) and (self._unanswered or not self._has_key):
            raise RcptError(f"The service didn't answer within {self._timeout:g} s.")
        return outcome

    @staticmethod
    def broken(error: Exception) -> RcptError:
        """Returns the error for a broken or missing connection."""
        if isinstance(error, (TimeoutError, httpx.TimeoutException)):
            why = "no answer in time"
        else:
            why = str(error) or type(error).__name__
        failure = RcptError(f"The service can't be reached: {why}.")
        failure.__cause__ = error
        return failure


def _is_in_progress(response: httpx.Response) -> bool:
    return response.status_code == 409 and _IN_PROGRESS in response.content


def _is_momentary(response: httpx.Response) -> bool:
    return response.status_code in (429, 502, 503, 504) or _is_in_progress(response)
