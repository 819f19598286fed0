"""Base of the blocking and the asyncio client."""

from __future__ import annotations

import ipaddress
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx

from ._errors import RcptError
from ._rate_limit import RateLimit
from .generated import AuthenticatedClient
from .generated.types import Response

# Error response of the current call, raised by `answered`: the generated code fails on shapes that
# the OpenAPI document lacks.
_failure: ContextVar[RcptError | None] = ContextVar("failure", default=None)


class Service:
    """The service at a URL, for the account of a key."""

    def __init__(self, url: str, api_key: str, **httpx_args: Any):
        _check(url)
        self._rate_limit: RateLimit | None = None
        #: Client for the modules of `rcpt_client.generated.api`, which contain every operation.
        self.client = AuthenticatedClient(
            base_url=url.rstrip("/"),
            token=api_key,
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
        if response.status_code >= 400:
            _failure.set(RcptError.of(response.status_code, response.headers, response.content))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


def whole_timeout(timeout: float | None, patience: float | None) -> float:
    """Returns the time limit of a call in seconds: `timeout` or, by its earlier name, `patience`; 30 by default."""
    if patience is not None:
        warnings.warn("patience is now timeout", DeprecationWarning, stacklevel=3)
    seconds = 30.0 if timeout is None and patience is None else float(timeout or patience or 0)
    if not seconds > 0:
        raise ValueError("The timeout must be more than 0 seconds.")
    return seconds


def _check(url: str) -> None:
    """Rejects a URL that would send the key unencrypted to another machine."""
    parsed = httpx.URL(url)
    try:
        here = parsed.host == "localhost" or ipaddress.ip_address(parsed.host).is_loopback
    except ValueError:
        here = False
    if parsed.scheme != "https" and not (parsed.scheme == "http" and here):
        raise ValueError("The service's address must start with https://.")


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
    before = _failure.set(None)
    try:
        yield
    except RcptError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        failure = _failure.get() or RcptError("What answers isn't the service.")
        raise failure from error
    finally:
        _failure.reset(before)
