"""The error of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import httpx


class RcptError(Exception):
    """Failure of a call: an unexpected response, or none at all."""

    def __init__(
        self,
        message: str,
        status: int = 0,
        code: str | None = None,
        retry_after: int | None = None,
        *,
        request_id: str | None = None,
        limit: str | None = None,
        resets_at: datetime | None = None,
        doc_url: str | None = None,
    ):
        super().__init__(message)
        self.message = message
        #: The HTTP status; 0 if no response was received in time.
        self.status = status
        #: Code for programs; some errors have none.
        self.code = code
        #: Seconds until a retry makes sense, if the service names them.
        self.retry_after = retry_after
        #: Id to quote when you report a problem.
        self.request_id = request_id
        #: The exhausted allowance, such as `email check`, and the time of its renewal.
        self.limit = limit
        self.resets_at = resets_at
        #: A page about this error, if the service names one.
        self.doc_url = doc_url

    @classmethod
    def of(cls, status: int, headers: httpx.Headers, content: bytes) -> RcptError:
        """Returns the error in a response."""
        body = _members(_json(content))
        detail = body.get("detail")
        of_detail = _members(detail)
        message = detail if isinstance(detail, str) else _text(of_detail, "error")
        after = headers.get("Retry-After", "")
        if message is None:
            message = f"What answers, with status {status}, isn't the service."
        return cls(
            message,
            status,
            _text(body, "code"),
            int(after) if after.isdigit() else None,
            request_id=headers.get("X-Request-Id"),
            limit=_text(of_detail, "limit"),
            resets_at=_time(_text(of_detail, "resets_at")),
            doc_url=_text(body, "doc_url"),
        )


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _members(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _time(text: str | None) -> datetime | None:
    try:
        # Python 3.10 can't parse "Z".
        return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
