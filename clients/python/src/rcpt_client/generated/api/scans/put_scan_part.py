from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.part_request import PartRequest
from ...models.plain_error import PlainError
from ...models.scan import Scan
from ...types import Response


def _get_kwargs(
    id: str,
    n: int,
    *,
    body: PartRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/v1/scans/{id}/parts/{n}".format(
            id=quote(str(id), safe=""),
            n=quote(str(n), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> PlainError | Scan | None:
    if response.status_code == 200:
        response_200 = Scan.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = PlainError.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = PlainError.from_dict(response.json())

        return response_401

    if response.status_code == 404:
        response_404 = PlainError.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = PlainError.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = PlainError.from_dict(response.json())

        return response_413

    if response.status_code == 429:
        response_429 = PlainError.from_dict(response.json())

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
) -> Response[PlainError | Scan]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: str,
    n: int,
    *,
    client: AuthenticatedClient,
    body: PartRequest,
) -> Response[PlainError | Scan]:
    """Send a part of a scan

     Part `n` has positions `1000 n` to `1000 n + 999`, the last one what is left. Parts come in any
    order. Sending the same part again changes nothing.

    Args:
        id (str):
        n (int):
        body (PartRequest): Body of `PUT /scans/{id}/parts/{n}`. Read as that of a new scan is, of
            which it is a part too.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[PlainError | Scan]
    """

    kwargs = _get_kwargs(
        id=id,
        n=n,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: str,
    n: int,
    *,
    client: AuthenticatedClient,
    body: PartRequest,
) -> PlainError | Scan | None:
    """Send a part of a scan

     Part `n` has positions `1000 n` to `1000 n + 999`, the last one what is left. Parts come in any
    order. Sending the same part again changes nothing.

    Args:
        id (str):
        n (int):
        body (PartRequest): Body of `PUT /scans/{id}/parts/{n}`. Read as that of a new scan is, of
            which it is a part too.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        PlainError | Scan
    """

    return sync_detailed(
        id=id,
        n=n,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    id: str,
    n: int,
    *,
    client: AuthenticatedClient,
    body: PartRequest,
) -> Response[PlainError | Scan]:
    """Send a part of a scan

     Part `n` has positions `1000 n` to `1000 n + 999`, the last one what is left. Parts come in any
    order. Sending the same part again changes nothing.

    Args:
        id (str):
        n (int):
        body (PartRequest): Body of `PUT /scans/{id}/parts/{n}`. Read as that of a new scan is, of
            which it is a part too.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[PlainError | Scan]
    """

    kwargs = _get_kwargs(
        id=id,
        n=n,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: str,
    n: int,
    *,
    client: AuthenticatedClient,
    body: PartRequest,
) -> PlainError | Scan | None:
    """Send a part of a scan

     Part `n` has positions `1000 n` to `1000 n + 999`, the last one what is left. Parts come in any
    order. Sending the same part again changes nothing.

    Args:
        id (str):
        n (int):
        body (PartRequest): Body of `PUT /scans/{id}/parts/{n}`. Read as that of a new scan is, of
            which it is a part too.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        PlainError | Scan
    """

    return (
        await asyncio_detailed(
            id=id,
            n=n,
            client=client,
            body=body,
        )
    ).parsed
