from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.limit_error import LimitError
from ...models.new_scan_request import NewScanRequest
from ...models.plain_error import PlainError
from ...models.scan import Scan
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: NewScanRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/scans",
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> LimitError | PlainError | Scan | None:
    if response.status_code == 201:
        response_201 = Scan.from_dict(response.json())

        return response_201

    if response.status_code == 400:
        response_400 = PlainError.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = PlainError.from_dict(response.json())

        return response_401

    if response.status_code == 409:
        response_409 = PlainError.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = PlainError.from_dict(response.json())

        return response_413

    if response.status_code == 422:
        response_422 = PlainError.from_dict(response.json())

        return response_422

    if response.status_code == 429:
        response_429 = LimitError.from_dict(response.json())

        return response_429

    if response.status_code == 503:
        response_503 = PlainError.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[LimitError | PlainError | Scan]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: NewScanRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[LimitError | PlainError | Scan]:
    """Start a scan

     Takes one scan of the daily allowance, then of the credits. With `addresses` all of the list is in.
    With `total` the list follows in parts of 1,000.

    Args:
        idempotency_key (None | str | Unset):
        body (NewScanRequest | Unset): Body of `POST /scans`: the addresses, or how many will
            follow in parts.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[LimitError | PlainError | Scan]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: NewScanRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> LimitError | PlainError | Scan | None:
    """Start a scan

     Takes one scan of the daily allowance, then of the credits. With `addresses` all of the list is in.
    With `total` the list follows in parts of 1,000.

    Args:
        idempotency_key (None | str | Unset):
        body (NewScanRequest | Unset): Body of `POST /scans`: the addresses, or how many will
            follow in parts.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        LimitError | PlainError | Scan
    """

    return sync_detailed(
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: NewScanRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[LimitError | PlainError | Scan]:
    """Start a scan

     Takes one scan of the daily allowance, then of the credits. With `addresses` all of the list is in.
    With `total` the list follows in parts of 1,000.

    Args:
        idempotency_key (None | str | Unset):
        body (NewScanRequest | Unset): Body of `POST /scans`: the addresses, or how many will
            follow in parts.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[LimitError | PlainError | Scan]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: NewScanRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> LimitError | PlainError | Scan | None:
    """Start a scan

     Takes one scan of the daily allowance, then of the credits. With `addresses` all of the list is in.
    With `total` the list follows in parts of 1,000.

    Args:
        idempotency_key (None | str | Unset):
        body (NewScanRequest | Unset): Body of `POST /scans`: the addresses, or how many will
            follow in parts.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        LimitError | PlainError | Scan
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
