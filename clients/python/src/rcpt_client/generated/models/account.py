from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="Account")


@_attrs_define
class Account:
    """Response of `GET /me`.

    Attributes:
        created_at (datetime.datetime):
        display_name (str): Empty until it is set.
        email (str):
        plan (str): Name of the plan.
        recovery_codes_left (int):
        two_factor (bool): Whether two-factor authentication is on.
        key_last_used (datetime.date | None | Unset): Last day, in UTC, on which a check or scan was counted with the
            current API key; null until there is one.
    """

    created_at: datetime.datetime
    display_name: str
    email: str
    plan: str
    recovery_codes_left: int
    two_factor: bool
    key_last_used: datetime.date | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        created_at = self.created_at.isoformat()

        display_name = self.display_name

        email = self.email

        plan = self.plan

        recovery_codes_left = self.recovery_codes_left

        two_factor = self.two_factor

        key_last_used: None | str | Unset
        if isinstance(self.key_last_used, Unset):
            key_last_used = UNSET
        elif isinstance(self.key_last_used, datetime.date):
            key_last_used = self.key_last_used.isoformat()
        else:
            key_last_used = self.key_last_used

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "created_at": created_at,
                "display_name": display_name,
                "email": email,
                "plan": plan,
                "recovery_codes_left": recovery_codes_left,
                "two_factor": two_factor,
            }
        )
        if key_last_used is not UNSET:
            field_dict["key_last_used"] = key_last_used

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        display_name = d.pop("display_name")

        email = d.pop("email")

        plan = d.pop("plan")

        recovery_codes_left = d.pop("recovery_codes_left")

        two_factor = d.pop("two_factor")

        def _parse_key_last_used(data: object) -> datetime.date | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                key_last_used_type_0 = datetime.date.fromisoformat(data)

                return key_last_used_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.date | None | Unset, data)

        key_last_used = _parse_key_last_used(d.pop("key_last_used", UNSET))

        account = cls(
            created_at=created_at,
            display_name=display_name,
            email=email,
            plan=plan,
            recovery_codes_left=recovery_codes_left,
            two_factor=two_factor,
            key_last_used=key_last_used,
        )

        account.additional_properties = d
        return account

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
