from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

T = TypeVar("T", bound="ScanAllowance")


@_attrs_define
class ScanAllowance:
    """
    Attributes:
        credits_ (int): Scan credits, which extend the allowance.
        daily_allowance (int):
        left_today (int):
        scan_size (int): How many addresses one scan may have.
        used_today (int):
    """

    credits_: int
    daily_allowance: int
    left_today: int
    scan_size: int
    used_today: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        credits_ = self.credits_

        daily_allowance = self.daily_allowance

        left_today = self.left_today

        scan_size = self.scan_size

        used_today = self.used_today

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "credits": credits_,
                "daily_allowance": daily_allowance,
                "left_today": left_today,
                "scan_size": scan_size,
                "used_today": used_today,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        credits_ = d.pop("credits")

        daily_allowance = d.pop("daily_allowance")

        left_today = d.pop("left_today")

        scan_size = d.pop("scan_size")

        used_today = d.pop("used_today")

        scan_allowance = cls(
            credits_=credits_,
            daily_allowance=daily_allowance,
            left_today=left_today,
            scan_size=scan_size,
            used_today=used_today,
        )

        scan_allowance.additional_properties = d
        return scan_allowance

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
