from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.check_request import CheckRequest
from ...models.limit_error import LimitError
from ...models.plain_error import PlainError
from ...models.validation_error import ValidationError
from ...models.validation_result import ValidationResult
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: CheckRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/validate_email",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> LimitError | PlainError | ValidationError | ValidationResult | None:
    if response.status_code == 200:
        response_200 = ValidationResult.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = ValidationError.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = ValidationError.from_dict(response.json())

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

    if response.status_code == 502:
        response_502 = PlainError.from_dict(response.json())

        return response_502

    if response.status_code == 503:
        response_503 = PlainError.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[LimitError | PlainError | ValidationError | ValidationResult]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: CheckRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[LimitError | PlainError | ValidationError | ValidationResult]:
    """Check an address

     Finds the mail server of the domain and asks whether it accepts the address. Nothing is sent. Takes
    up to about 10 seconds when the mail server is slow.

    Args:
        idempotency_key (None | str | Unset):
        body (CheckRequest): Body of `POST /validate_email`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[LimitError | PlainError | ValidationError | ValidationResult]
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
    body: CheckRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> LimitError | PlainError | ValidationError | ValidationResult | None:
    """Check an address

     Finds the mail server of the domain and asks whether it accepts the address. Nothing is sent. Takes
    up to about 10 seconds when the mail server is slow.

    Args:
        idempotency_key (None | str | Unset):
        body (CheckRequest): Body of `POST /validate_email`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        LimitError | PlainError | ValidationError | ValidationResult
    """

    return sync_detailed(
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: CheckRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[LimitError | PlainError | ValidationError | ValidationResult]:
    """Check an address

     Finds the mail server of the domain and asks whether it accepts the address. Nothing is sent. Takes
    up to about 10 seconds when the mail server is slow.

    Args:
        idempotency_key (None | str | Unset):
        body (CheckRequest): Body of `POST /validate_email`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[LimitError | PlainError | ValidationError | ValidationResult]
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
    body: CheckRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> LimitError | PlainError | ValidationError | ValidationResult | None:
    """Check an address

     Finds the mail server of the domain and asks whether it accepts the address. Nothing is sent. Takes
    up to about 10 seconds when the mail server is slow.

    Args:
        idempotency_key (None | str | Unset):
        body (CheckRequest): Body of `POST /validate_email`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        LimitError | PlainError | ValidationError | ValidationResult
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
