from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="Delivery")


@_attrs_define
class Delivery:
    """An event that was sent to the webhook, or is to be.

    Attributes:
        attempts (int): How often it was tried.
        created_at (datetime.datetime):
        event (str): `scan.completed`, `scan.expired` or `webhook.test`. Example: scan.completed.
        id (str): The header `webhook-id`.
        state (str): `pending`, `delivered` or `failed`. Example: delivered.
        attempted_at (datetime.datetime | None | Unset): When it was tried last; null when it wasn't yet.
        problem (None | str | Unset): Why there was none: `no_answer` within five seconds, `no_dns`, or `not_public`
            when the name leads to an address
            that isn't public.
        status (int | None | Unset): The HTTP status of the last attempt; null when there was none.
    """

    attempts: int
    created_at: datetime.datetime
    event: str
    id: str
    state: str
    attempted_at: datetime.datetime | None | Unset = UNSET
    problem: None | str | Unset = UNSET
    status: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        attempts = self.attempts

        created_at = self.created_at.isoformat()

        event = self.event

        id = self.id

        state = self.state

        attempted_at: None | str | Unset
        if isinstance(self.attempted_at, Unset):
            attempted_at = UNSET
        elif isinstance(self.attempted_at, datetime.datetime):
            attempted_at = self.attempted_at.isoformat()
        else:
            attempted_at = self.attempted_at

        problem: None | str | Unset
        if isinstance(self.problem, Unset):
            problem = UNSET
        else:
            problem = self.problem

        status: int | None | Unset
        if isinstance(self.status, Unset):
            status = UNSET
        else:
            status = self.status

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attempts": attempts,
                "created_at": created_at,
                "event": event,
                "id": id,
                "state": state,
            }
        )
        if attempted_at is not UNSET:
            field_dict["attempted_at"] = attempted_at
        if problem is not UNSET:
            field_dict["problem"] = problem
        if status is not UNSET:
            field_dict["status"] = status

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        attempts = d.pop("attempts")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        event = d.pop("event")

        id = d.pop("id")

        state = d.pop("state")

        def _parse_attempted_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                attempted_at_type_0 = datetime.datetime.fromisoformat(data)

                return attempted_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        attempted_at = _parse_attempted_at(d.pop("attempted_at", UNSET))

        def _parse_problem(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        problem = _parse_problem(d.pop("problem", UNSET))

        def _parse_status(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        status = _parse_status(d.pop("status", UNSET))

        delivery = cls(
            attempts=attempts,
            created_at=created_at,
            event=event,
            id=id,
            state=state,
            attempted_at=attempted_at,
            problem=problem,
            status=status,
        )

        delivery.additional_properties = d
        return delivery

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
