"""Base of the blocking and the asyncio client."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx

from ._attempts import call_timeout, checked_timeout
from ._errors import RcptError
from ._rate_limit import RateLimit
from .generated import AuthenticatedClient
from .generated.types import Response

# Error response of the current call, raised by `answered`: the generated code fails on shapes that
# the OpenAPI document lacks.
_failure: ContextVar[RcptError | None] = ContextVar("failure", default=None)
# True once the current call has a response.
_is_answered: ContextVar[bool] = ContextVar("is_answered", default=False)


class _Key(str):
    """An API key whose representation, as in a traceback with local variables, doesn't show it."""

    def __repr__(self) -> str:
        return "'…'"


class Service:
    """The service at a URL, for the account of a key."""

    def __init__(self, url: str, api_key: str, **httpx_args: Any):
        service, key = _service_at(url), _checked_key(api_key)
        self._rate_limit: RateLimit | None = None
        #: Client for the modules of `rcpt_client.generated.api`, which contain every operation.
        self.client = AuthenticatedClient(
            base_url=service,
            token=key,
            prefix="",
            auth_header_name="X-API-Key",
            # Following a redirect could send the key to another host.
            follow_redirects=False,
            httpx_args=httpx_args,
        )

    @property
    def rate_limit(self) -> RateLimit | None:
        """The remaining allowance from the last response that had it; None before the first such
        response, and on an unlimited plan.
        """
        return self._rate_limit

    def _remember(self, response: httpx.Response) -> None:
        self._rate_limit = RateLimit.of(response.headers) or self._rate_limit
        _is_answered.set(True)
        if response.status_code >= 400:
            _failure.set(RcptError.of(response.status_code, response.headers, response.content))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


def _checked_key(api_key: str) -> _Key:
    """Rejects a text that is no key, such as one read with the line break of its file, without showing it."""
    if not api_key:
        raise ValueError("The API key is empty.")
    if re.fullmatch(r"[A-Za-z0-9_]+", api_key, re.ASCII) is None:
        raise ValueError("The API key has characters that no key has.")
    return _Key(api_key)


def _service_at(url: str) -> str:
    """Returns the URL without `/v1` and slashes at its end. Rejects one that would send the key unencrypted."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        # The library's own error quotes the text, which is the key where both were mixed up.
        raise ValueError("The service's address isn't a URL.") from None
    try:
        here = parsed.host == "localhost" or ipaddress.ip_address(parsed.host).is_loopback
    except ValueError:
        here = False
    if parsed.scheme != "https" and not (parsed.scheme == "http" and here):
        raise ValueError("The service's address must start with https://.")
    if parsed.userinfo:
        raise ValueError("The service's address must not contain a user name or a password.")
    return url.rstrip("/").removesuffix("/v1")


def parsed(response: Response[Any]) -> Any:
    """Returns the parsed response of a successful call; raises other responses as errors."""
    status = int(response.status_code)
    if 200 <= status < 300 and (response.parsed is not None or status == 204):
        return response.parsed
    headers = httpx.Headers(dict(response.headers))
    raise RcptError.of(status, headers, response.content)


@contextmanager
def answered() -> Iterator[None]:
    """Wraps a call of the generated code: responses that it can't parse become an `RcptError`."""
    before, was_answered = _failure.set(None), _is_answered.set(False)
    try:
        yield
    except RcptError:
        raise
    except UnicodeEncodeError:
        # JSON and a form can carry it, so it may come from outside; the library's own error has the text.
        message = "The text has half of a surrogate pair, which isn't a character."
        raise RcptError(message, code="invalid_body") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if not _is_answered.get():
            raise
        failure = _failure.get() or RcptError("What answers isn't the service.")
        raise failure from error
    finally:
        _failure.reset(before)
        _is_answered.reset(was_answered)


@contextmanager
def within(timeout: float | None) -> Iterator[None]:
    """Sets the time limit of calls in seconds; None for the client's."""
    before = call_timeout.set(None if timeout is None else checked_timeout(timeout))
    try:
        yield
    finally:
        call_timeout.reset(before)
