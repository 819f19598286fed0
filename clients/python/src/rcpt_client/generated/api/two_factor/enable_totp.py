from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.enable import Enable
from ...models.plain_error import PlainError
from ...models.recovery_codes import RecoveryCodes
from ...types import Response


def _get_kwargs(
    *,
    body: Enable,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/auth/totp/enable",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> PlainError | RecoveryCodes | None:
    if response.status_code == 200:
        response_200 = RecoveryCodes.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = PlainError.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = PlainError.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = PlainError.from_dict(response.json())

        return response_403

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
) -> Response[PlainError | RecoveryCodes]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: Enable,
) -> Response[PlainError | RecoveryCodes]:
    """Enable two-factor

    Args:
        body (Enable): Body of `POST /auth/totp/enable`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[PlainError | RecoveryCodes]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: Enable,
) -> PlainError | RecoveryCodes | None:
    """Enable two-factor

    Args:
        body (Enable): Body of `POST /auth/totp/enable`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        PlainError | RecoveryCodes
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: Enable,
) -> Response[PlainError | RecoveryCodes]:
    """Enable two-factor

    Args:
        body (Enable): Body of `POST /auth/totp/enable`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[PlainError | RecoveryCodes]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: Enable,
) -> PlainError | RecoveryCodes | None:
    """Enable two-factor

    Args:
        body (Enable): Body of `POST /auth/totp/enable`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        PlainError | RecoveryCodes
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
