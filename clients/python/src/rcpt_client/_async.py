"""The client for asyncio and trio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import anyio
import httpx

from . import _steps as steps
from ._attempts import checked_timeout
from ._errors import RcptError
from ._service import Service, answered, parsed, within
from ._steps import Joined, Pause, Progress, Steps
from ._transports import AsyncRetrying
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


class AsyncRcpt(Service):
    """The service at `url`, for the account of `api_key`. Its methods are those of `Rcpt`, with `await`.

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
        async def remember(response: httpx.Response) -> None:
            self._remember(response)

        transport = AsyncRetrying(checked_timeout(timeout))
        super().__init__(url, api_key, transport=transport, event_hooks={"response": [remember]})

    async def check(
        self,
        email: str,
        *,
        details: bool = False,
        idempotency_key: str | None = None,
        deadline_ms: int | None = None,
        timeout: float | None = None,
    ) -> ValidationResult:
        """Checks an address; with `details`, the result includes the reason."""
        return await self._run(steps.check(email, details, idempotency_key, deadline_ms), timeout)

    async def check_list(
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
        return await self._run(steps.check_list(emails, details, idempotency_key, deadline_ms), timeout)

    async def check_domain(
        self, domain: str, *, idempotency_key: str | None = None, timeout: float | None = None
    ) -> DomainAnswer:
        """Returns the kind of a domain, without an address. The call is charged as a check."""
        return await self._run(steps.check_domain(domain, idempotency_key), timeout)

    async def decide(
        self, email: str, *, idempotency_key: str | None = None, timeout: float | None = None
    ) -> Decision:
        """Asks the sign-up guard whether an address may sign up, by your policy.

        The answer comes within the policy's deadline. If the call fails all the same, let the person sign up.
        """
        return await self._run(steps.decide(email, idempotency_key), timeout)

    async def quota(self, *, timeout: float | None = None) -> QuotaReport:
        """Returns the plan and the remaining allowances."""
        return await self._run(steps.quota(), timeout)

    async def end_key(self, *, timeout: float | None = None) -> None:
        """Permanently ends this client's API key. If it's the account's first one, signing in returns a new key."""
        await self._run(steps.end_key(), timeout)

    async def start_scan(
        self,
        addresses: Sequence[str],
        *,
        name: str = "",
        details: bool = True,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Scan:
        """Starts a scan of a list and sends all its parts."""
        return await self._run(steps.start(addresses, name, details, idempotency_key), timeout)

    async def wait_for_scan(
        self, id: str, *, timeout: float | None = None, on_progress: Progress | None = None
    ) -> Scan:
        """Waits until a scan has ended, for `timeout` seconds at most."""
        return await self._run(steps.wait(id, timeout, on_progress))

    async def join_scan(
        self, id: str, addresses: Sequence[str], *, timeout: float | None = None
    ) -> list[Joined]:
        """Returns the addresses of a scan in their original order, each with its result."""
        return await self._run(steps.join(id, addresses), timeout)

    async def scan(self, id: str, *, timeout: float | None = None) -> Scan:
        """Returns the current state of a scan."""
        return await self._run(steps.scan(id), timeout)

    async def scans(self, *, timeout: float | None = None) -> list[Scan]:
        """Returns all scans, newest first."""
        return await self._run(steps.scans(), timeout)

    async def scan_results(self, id: str, *, timeout: float | None = None) -> list[ScanResult]:
        """Returns all results of a scan, by position."""
        return await self._run(steps.results(id), timeout)

    async def cancel_scan(self, id: str, *, timeout: float | None = None) -> Scan:
        """Cancels a scan; verdicts found so far are kept."""
        return await self._run(steps.cancel(id), timeout)

    async def delete_scan(self, id: str, *, timeout: float | None = None) -> None:
        """Deletes a scan with its results; a running one is cancelled."""
        await self._run(steps.delete(id), timeout)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.client.get_async_httpx_client().aclose()

    async def __aenter__(self) -> AsyncRcpt:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _run(self, steps: Steps[T], timeout: float | None = None) -> T:
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
                await anyio.sleep(step.seconds)
                continue
            try:
                call = step.module.asyncio_detailed
                with within(timeout):
                    result = await answer_async(call, client=self.client, **step.arguments)
            except RcptError as error:
                failure = error


async def answer_async(call: Callable[..., Awaitable[Response[Any]]], **arguments: Any) -> Any:
    """Calls an `asyncio_detailed` of `rcpt_client.generated.api`. Raises every error as an `RcptError`."""
    with answered():
        response = await call(**arguments)
    return parsed(response)
