"""A client for the API that checks whether an email address can receive mail."""

from __future__ import annotations

try:
    from .generated import types as _types  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != f"{__name__}.generated":
        raise
    raise ImportError(
        "This folder is the source of rcpt-client, without what is generated from the API's description. "
        "Run `make clients` in the repository, and install the wheel that it writes into target/clients."
    ) from None

from ._async import AsyncRcpt, answer_async
from ._errors import RcptError
from ._rate_limit import RateLimit
from ._steps import Joined
from ._sync import Rcpt, answer
from ._webhooks import WebhookError, verify_webhook
from .generated.models import (
    Decision,
    Details,
    DomainAnswer,
    ListResult,
    QuotaReport,
    Scan,
    ScanResult,
    ValidationResult,
)

__all__ = [
    "AsyncRcpt",
    "Decision",
    "Details",
    "DomainAnswer",
    "Joined",
    "ListResult",
    "QuotaReport",
    "RateLimit",
    "Rcpt",
    "RcptError",
    "Scan",
    "ScanResult",
    "ValidationResult",
    "WebhookError",
    "answer",
    "answer_async",
    "verify_webhook",
]
