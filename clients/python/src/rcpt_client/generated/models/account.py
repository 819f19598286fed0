from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

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
    """

    created_at: datetime.datetime
    display_name: str
    email: str
    plan: str
    recovery_codes_left: int
    two_factor: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        created_at = self.created_at.isoformat()

        display_name = self.display_name

        email = self.email

        plan = self.plan

        recovery_codes_left = self.recovery_codes_left

        two_factor = self.two_factor

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

        account = cls(
            created_at=created_at,
            display_name=display_name,
            email=email,
            plan=plan,
            recovery_codes_left=recovery_codes_left,
            two_factor=two_factor,
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
