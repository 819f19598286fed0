"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import _steps as steps
from ._attempts import checked_timeout
from ._errors import RcptError
from ._service import Service, answered, parsed, within
from ._steps import Joined, Pause, Progress, Steps
from ._transports import Retrying
from .generated.models import (
    Decision,
    DomainAnswer,
    ListResult,
    QuotaReport,
    Scan,
    ScanResult,
    ValidationResult,
)
from .generated.types import Response

T = TypeVar("T")


class Rcpt(Service):
    """The service at `url`, for the account of `api_key`.

    `timeout` is the time limit of one request in seconds, including its retries and pauses. A method's own `timeout`
    replaces it.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout: float = 30.0,
    ):
        transport = Retrying(checked_timeout(timeout))
        hooks = {"response": [self._remember]}
        super().__init__(url, api_key, transport=transport, event_hooks=hooks)

    def check(
        self,
        email: str,
        *,
        details: bool = False,
        idempotency_key: str | None = None,
        deadline_ms: int | None = None,
        timeout: float | None = None,
    ) -> ValidationResult:
        """Checks an address; with `details`, the result includes the reason.

        A repeat with the same `idempotency_key` within 24 hours isn't charged again. If the verdict hasn't arrived
        after `deadline_ms` (300 to 10,000), the result is `pending`: a repeat with that key returns it later.
        """
        return self._run(steps.check(email, details, idempotency_key, deadline_ms), timeout)

    def check_list(
        self,
        emails: list[str],
        *,
        details: bool = False,
        idempotency_key: str | None = None,
        deadline_ms: int | None = None,
        timeout: float | None = None,
    ) -> ListResult:
        """Checks up to 100 addresses in one call; each is charged as a check.

        If fewer checks are left than there are addresses, none is checked.
        """
        return self._run(steps.check_list(emails, details, idempotency_key, deadline_ms), timeout)

    def check_domain(
        self, domain: str, *, idempotency_key: str | None = None, timeout: float | None = None
    ) -> DomainAnswer:
        """Returns the kind of a domain, without an address. The call is charged as a check."""
        return self._run(steps.check_domain(domain, idempotency_key), timeout)

    def decide(
        self, email: str, *, idempotency_key: str | None = None, timeout: float | None = None
    ) -> Decision:
        """Asks the sign-up guard whether an address may sign up, by your policy.

        The answer comes within the policy's deadline. If the call fails all the same, let the person sign up.
        """
        return self._run(steps.decide(email, idempotency_key), timeout)

    def quota(self, *, timeout: float | None = None) -> QuotaReport:
        """Returns the plan and the remaining allowances."""
        return self._run(steps.quota(), timeout)

    def end_key(self, *, timeout: float | None = None) -> None:
        """Permanently ends this client's API key. If it's the account's first one, signing in returns a new key."""
        self._run(steps.end_key(), timeout)

    def start_scan(
        self,
        addresses: Sequence[str],
        *,
        name: str = "",
        details: bool = True,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Scan:
        """Starts a scan of a list and sends all its parts.

        Another call with the same list and `idempotency_key` within 24 hours returns the
        same scan.
        """
        return self._run(steps.start(addresses, name, details, idempotency_key), timeout)

    def wait_for_scan(
        self, id: str, *, timeout: float | None = None, on_progress: Progress | None = None
    ) -> Scan:
        """Waits until a scan has ended, for `timeout` seconds at most. `on_progress` gets the scan at each poll."""
        return self._run(steps.wait(id, timeout, on_progress))

    def join_scan(
        self, id: str, addresses: Sequence[str], *, timeout: float | None = None
    ) -> list[Joined]:
        """Returns the addresses of a scan in their original order, each with its result.

        Raises a ValueError if `addresses` isn't the scanned list; the service compares each part up to twenty times.
        """
        return self._run(steps.join(id, addresses), timeout)

    def scan(self, id: str, *, timeout: float | None = None) -> Scan:
        """Returns the current state of a scan."""
        return self._run(steps.scan(id), timeout)

    def scans(self, *, timeout: float | None = None) -> list[Scan]:
        """Returns all scans, newest first."""
        return self._run(steps.scans(), timeout)

    def scan_results(self, id: str, *, timeout: float | None = None) -> list[ScanResult]:
        """Returns all results of a scan, by position."""
        return self._run(steps.results(id), timeout)

    def cancel_scan(self, id: str, *, timeout: float | None = None) -> Scan:
        """Cancels a scan; verdicts found so far are kept."""
        return self._run(steps.cancel(id), timeout)

    def delete_scan(self, id: str, *, timeout: float | None = None) -> None:
        """Deletes a scan with its results; a running one is cancelled."""
        self._run(steps.delete(id), timeout)

    def close(self) -> None:
        """Closes the connections."""
        self.client.get_httpx_client().close()

    def __enter__(self) -> Rcpt:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[T], timeout: float | None = None) -> T:
        result: Any = None
        failure: RcptError | None = None
        while True:
            try:
                step = steps.send(result) if failure is None else steps.throw(failure)
            except StopIteration as ended:
                done: T = ended.value
                return done
            result, failure = None, None
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                continue
            try:
                with within(timeout):
                    result = answer(step.module.sync_detailed, client=self.client, **step.arguments)
            except RcptError as error:
                failure = error


def answer(call: Callable[..., Response[Any]] | Response[Any], **arguments: Any) -> Any:
    """Calls a `sync_detailed` of `rcpt_client.generated.api`, and returns its answer.

    `answer(module.sync_detailed, client=…)`; also accepts its response. Raises every error as an `RcptError`.
    """
    if isinstance(call, Response):
        return parsed(call)
    with answered():
        response = call(**arguments)
    return parsed(response)
