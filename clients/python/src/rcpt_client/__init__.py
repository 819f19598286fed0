"""A client of the API that tells whether an email address can receive mail."""

from __future__ import annotations

import ipaddress
from typing import Any

import httpx

from ._rate_limit import RateLimit
from ._retrying import Retrying
from .generated import AuthenticatedClient
from .generated.api.quota import quota as _quota
from .generated.api.validation import validate_email as _validate_email
from .generated.models import CheckRequest, QuotaReport, ValidationResult
from .generated.types import UNSET, Response

__all__ = ["RateLimit", "Rcpt", "RcptError", "QuotaReport", "ValidationResult", "answer"]


class RcptError(Exception):
    """An answer that isn't the one that was asked for."""

    def __init__(self, message: str, status: int, code: str | None, retry_after: int | None):
        super().__init__(message)
        self.message = message
        #: The HTTP status.
        self.status = status
        #: For programs; some errors have none.
        self.code = code
        #: Seconds after which it's worth trying again, if the service says so.
        self.retry_after = retry_after


class Rcpt:
    """The service at `url`, for the account of `api_key`.

    `patience` is how long one call may wait in all, between attempts; `timeout` is for one attempt. Both
    are in seconds.
    """

    def __init__(self, url: str, api_key: str, *, patience: float = 30, timeout: float = 30):
        _check(url)
        self._rate_limit: RateLimit | None = None
        #: For the modules of `rcpt_client.generated.api`: every operation.
        self.client = AuthenticatedClient(
            base_url=url.rstrip("/"),
            token=api_key,
            prefix="",
            auth_header_name="X-API-Key",
            timeout=httpx.Timeout(timeout),
            # A redirection would carry the key to another host.
            follow_redirects=False,
            httpx_args={
                "transport": Retrying(patience),
                "event_hooks": {"response": [self._remember]},
            },
        )

    @property
    def rate_limit(self) -> RateLimit | None:
        """What is left, as the last answer that said so has it; None before that, and on an unlimited plan."""
        return self._rate_limit

    def _remember(self, response: httpx.Response) -> None:
        self._rate_limit = RateLimit.of(response.headers) or self._rate_limit

    def check(
        self, email: str, *, details: bool = False, idempotency_key: str | None = None
    ) -> ValidationResult:
        """Asks whether an address can receive mail; with `details`, also why.

        Sent again with the same `idempotency_key` within 24 hours, it's counted once.
        """
        body = CheckRequest(email=email, details=details)
        key = UNSET if idempotency_key is None else idempotency_key
        return answer(
            _validate_email.sync_detailed, client=self.client, body=body, idempotency_key=key
        )

    def quota(self) -> QuotaReport:
        """The plan and what is left of it today."""
        return answer(_quota.sync_detailed, client=self.client)

    def __repr__(self) -> str:
        return "Rcpt(…)"


def _check(url: str) -> None:
    """Only to this machine may a key go unencrypted."""
    parsed = httpx.URL(url)
    try:
        here = parsed.host == "localhost" or ipaddress.ip_address(parsed.host).is_loopback
    except ValueError:
        here = False
    if parsed.scheme != "https" and not (parsed.scheme == "http" and here):
        raise ValueError("The service's address must start with https://.")


def answer(call: Any, **arguments: Any) -> Any:
    """Calls a `sync_detailed` of `rcpt_client.generated.api`, and returns what was asked for."""
    try:
        response: Response[Any] = call(**arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise RcptError("What answers isn't the service.", 0, None, None) from error
    status = int(response.status_code)
    if 200 <= status < 300:
        return response.parsed
    told = response.parsed.to_dict() if response.parsed is not None else {}
    detail = told.get("detail")
    message = detail.get("error") if isinstance(detail, dict) else detail
    after = response.headers.get("Retry-After", "")
    raise RcptError(
        message or f"The service answers with status {status}.",
        status,
        told.get("code"),
        int(after) if after.isdigit() else None,
    )
