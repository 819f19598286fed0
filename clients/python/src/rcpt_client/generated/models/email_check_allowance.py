from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

T = TypeVar("T", bound="EmailCheckAllowance")


@_attrs_define
class EmailCheckAllowance:
    """
    Attributes:
        daily_allowance (int):
        left_today (int):
        used_today (int):
        welcome_left (int): Welcome checks remaining, used once the daily allowance is used up.
    """

    daily_allowance: int
    left_today: int
    used_today: int
    welcome_left: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        daily_allowance = self.daily_allowance

        left_today = self.left_today

        used_today = self.used_today

        welcome_left = self.welcome_left

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "daily_allowance": daily_allowance,
                "left_today": left_today,
                "used_today": used_today,
                "welcome_left": welcome_left,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        daily_allowance = d.pop("daily_allowance")

        left_today = d.pop("left_today")

        used_today = d.pop("used_today")

        welcome_left = d.pop("welcome_left")

        email_check_allowance = cls(
            daily_allowance=daily_allowance,
            left_today=left_today,
            used_today=used_today,
            welcome_left=welcome_left,
        )

        email_check_allowance.additional_properties = d
        return email_check_allowance

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
