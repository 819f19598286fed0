from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.plain_error import PlainError
from ...models.scan_results import ScanResults
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: str,
    *,
    after: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    status: str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["after"] = after

    params["limit"] = limit

    params["status"] = status

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/scans/{id}/results".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> PlainError | ScanResults | None:
    if response.status_code == 200:
        response_200 = ScanResults.from_dict(response.json())

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
) -> Response[PlainError | ScanResults]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: str,
    *,
    client: AuthenticatedClient,
    after: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    status: str | Unset = UNSET,
) -> Response[PlainError | ScanResults]:
    """Read the results of a scan

     By position, also while the scan runs. `Accept: text/csv` and `application/x-ndjson` give these
    forms; `Link` then leads to the next page.

    Args:
        id (str):
        after (int | Unset):
        limit (int | Unset):
        status (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[PlainError | ScanResults]
    """

    kwargs = _get_kwargs(
        id=id,
        after=after,
        limit=limit,
        status=status,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: str,
    *,
    client: AuthenticatedClient,
    after: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    status: str | Unset = UNSET,
) -> PlainError | ScanResults | None:
    """Read the results of a scan

     By position, also while the scan runs. `Accept: text/csv` and `application/x-ndjson` give these
    forms; `Link` then leads to the next page.

    Args:
        id (str):
        after (int | Unset):
        limit (int | Unset):
        status (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        PlainError | ScanResults
    """

    return sync_detailed(
        id=id,
        client=client,
        after=after,
        limit=limit,
        status=status,
    ).parsed


async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient,
    after: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    status: str | Unset = UNSET,
) -> Response[PlainError | ScanResults]:
    """Read the results of a scan

     By position, also while the scan runs. `Accept: text/csv` and `application/x-ndjson` give these
    forms; `Link` then leads to the next page.

    Args:
        id (str):
        after (int | Unset):
        limit (int | Unset):
        status (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[PlainError | ScanResults]
    """

    kwargs = _get_kwargs(
        id=id,
        after=after,
        limit=limit,
        status=status,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient,
    after: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    status: str | Unset = UNSET,
) -> PlainError | ScanResults | None:
    """Read the results of a scan

     By position, also while the scan runs. `Accept: text/csv` and `application/x-ndjson` give these
    forms; `Link` then leads to the next page.

    Args:
        id (str):
        after (int | Unset):
        limit (int | Unset):
        status (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        PlainError | ScanResults
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            after=after,
            limit=limit,
            status=status,
        )
    ).parsed
