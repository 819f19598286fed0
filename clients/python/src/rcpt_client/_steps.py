"""Steps of each call, for the blocking and the asyncio client."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

from ._errors import RcptError
from .generated.api.account import self_revoke_key as _self_revoke_key
from .generated.api.guard import decide_sign_up as _decide
from .generated.api.quota import show_quota as _quota
from .generated.api.scans import cancel_scan as _cancel_scan
from .generated.api.scans import create_scan as _create_scan
from .generated.api.scans import delete_scan as _delete_scan
from .generated.api.scans import list_scans as _list_scans
from .generated.api.scans import match_scan_part as _match_scan_part
from .generated.api.scans import put_scan_part as _put_scan_part
from .generated.api.scans import scan_results as _scan_results
from .generated.api.scans import show_scan as _scan
from .generated.api.validation import check_domain as _check_domain
from .generated.api.validation import validate_email as _validate_email
from .generated.api.validation import validate_emails as _validate_emails
from .generated.models import (
    CheckRequest,
    Decision,
    DecisionRequest,
    DomainAnswer,
    DomainQuestion,
    ListRequest,
    ListResult,
    NewScanRequest,
    PartMatch,
    PartRequest,
    QuotaReport,
    Scan,
    ScanResult,
    ValidationResult,
)
from .generated.types import UNSET

# Addresses per part; the last part of a list may have fewer.
_PART = 1_000
# Results per page.
_PAGE = 10_000
# First and longest pause in seconds between two requests for a scan's state.
_LOOK, _LONGEST_LOOK = 0.5, 10.0


@dataclass
class Call:
    """An operation of `rcpt_client.generated.api`, and its arguments."""

    module: ModuleType
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass
class Pause:
    seconds: float


T = TypeVar("T")
#: Yields requests and pauses, receives their results, and returns the final result.
Steps = Generator[Call | Pause, Any, T]
Progress = Callable[[Scan], object]


@dataclass(frozen=True)
class Joined:
    """An address of a list, and its result."""

    address: str
    #: None if the position has no result.
    result: ScanResult | None


def _key(idempotency_key: str | None) -> Any:
    # The library's own error would quote the value, which may be an address.
    if idempotency_key is not None and re.fullmatch("[!-~]*", idempotency_key) is None:
        raise ValueError("An idempotency_key has only printable ASCII characters, and no spaces.")
    return UNSET if idempotency_key is None else idempotency_key


def check(
    email: str, details: bool, idempotency_key: str | None, deadline_ms: int | None
) -> Steps[ValidationResult]:
    deadline: Any = UNSET if deadline_ms is None else deadline_ms
    body = CheckRequest(email=email, details=details, deadline_ms=deadline)
    call = Call(_validate_email, {"body": body, "idempotency_key": _key(idempotency_key)})
    result: ValidationResult = yield call
    return result


def check_list(
    emails: list[str], details: bool, idempotency_key: str | None, deadline_ms: int | None
) -> Steps[ListResult]:
    deadline: Any = UNSET if deadline_ms is None else deadline_ms
    body = ListRequest(emails=emails, details=details, deadline_ms=deadline)
    call = Call(_validate_emails, {"body": body, "idempotency_key": _key(idempotency_key)})
    result: ListResult = yield call
    return result


def check_domain(domain: str, idempotency_key: str | None) -> Steps[DomainAnswer]:
    body = DomainQuestion(domain=domain)
    call = Call(_check_domain, {"body": body, "idempotency_key": _key(idempotency_key)})
    answer: DomainAnswer = yield call
    return answer


def decide(email: str, idempotency_key: str | None) -> Steps[Decision]:
    body = DecisionRequest(email=email)
    decision: Decision = yield Call(_decide, {"body": body, "idempotency_key": _key(idempotency_key)})
    return decision


def quota() -> Steps[QuotaReport]:
    report: QuotaReport = yield Call(_quota)
    return report


def end_key() -> Steps[None]:
    yield Call(_self_revoke_key)


def scan(id: str) -> Steps[Scan]:
    found: Scan = yield Call(_scan, {"id": id})
    return found


def scans() -> Steps[list[Scan]]:
    found: list[Scan] = []
    before: Any = UNSET
    while True:
        page = yield Call(_list_scans, {"limit": 100, "before": before})
        found += page.scans
        before = page.next_
        if not before:
            return found


def cancel(id: str) -> Steps[Scan]:
    cancelled: Scan = yield Call(_cancel_scan, {"id": id})
    return cancelled


def delete(id: str) -> Steps[None]:
    yield Call(_delete_scan, {"id": id})


def start(
    addresses: Sequence[str], name: str, details: bool, idempotency_key: str | None
) -> Steps[Scan]:
    is_one_part = len(addresses) <= _PART
    body = NewScanRequest(name=name, details=details)
    if is_one_part:
        body.addresses = list(addresses)
    else:
        body.total = len(addresses)
    call = Call(_create_scan, {"body": body, "idempotency_key": _key(idempotency_key)})
    found: Scan = yield call
    if is_one_part:
        return found
    for number, first in enumerate(range(0, len(addresses), _PART)):
        part = PartRequest(addresses=list(addresses[first : first + _PART]))
        found = yield Call(_put_scan_part, {"id": found.id, "n": number, "body": part})
    return found


def wait(id: str, timeout: float | None, on_progress: Progress | None) -> Steps[Scan]:
    end = None if timeout is None else time.monotonic() + timeout
    look, answered = _LOOK, -1
    while True:
        found: Scan = yield Call(_scan, {"id": id})
        if on_progress is not None:
            on_progress(found)
        if found.state not in ("open", "running"):
            return found
        look = _LOOK if found.answered > answered else min(look * 2, _LONGEST_LOOK)
        answered = found.answered
        if end is not None and time.monotonic() + look >= end:
            raise RcptError(f"The scan {id} hasn't ended within {timeout:g} s. It goes on.")
        yield Pause(look)


def results(id: str) -> Steps[list[ScanResult]]:
    found: list[ScanResult] = []
    after: Any = UNSET
    while True:
        page = yield Call(_scan_results, {"id": id, "limit": _PAGE, "after": after})
        found += page.results
        after = page.next_
        if after is None or after is UNSET:
            return found


def join(id: str, addresses: Sequence[str]) -> Steps[list[Joined]]:
    found = yield from scan(id)
    if found.total != len(addresses):
        raise ValueError(f"The scan is of {found.total} addresses, and the list has {len(addresses)}.")
    for n, first in enumerate(range(0, len(addresses), _PART)):
        part = addresses[first : first + _PART]
        if not (yield from _is_part(id, n, part)):
            last = first + len(part)
            raise ValueError(
                "This isn't the list that was scanned, or not in its order: "
                f"addresses {first + 1} to {last} differ."
            )
    by_position = {result.position: result for result in (yield from results(id))}
    return [Joined(address, by_position.get(n)) for n, address in enumerate(addresses)]


def _is_part(id: str, n: int, addresses: Sequence[str]) -> Steps[bool]:
    try:
        body = PartRequest(addresses=list(addresses))
        match: PartMatch = yield Call(_match_scan_part, {"id": id, "n": n, "body": body})
    except RcptError as error:
        # A part with fewer than two different addresses can't be compared.
        if error.code != "nothing_to_match":
            raise
        return True
    return match.matches
