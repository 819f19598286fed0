from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="NewScanRequest")


@_attrs_define
class NewScanRequest:
    """Body of `POST /scans`: the addresses, or how many will follow in parts.

    Attributes:
        addresses (list[str] | Unset): 1 to 1,000 addresses, one for each position. Larger lists are sent in parts.
        details (bool | Unset): Whether results are to have the evidence behind the verdict.
        name (str | Unset): At most 100 characters.
        total (int | Unset): How many positions the list has, when its parts follow.
    """

    addresses: list[str] | Unset = UNSET
    details: bool | Unset = UNSET
    name: str | Unset = UNSET
    total: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        addresses: list[str] | Unset = UNSET
        if not isinstance(self.addresses, Unset):
            addresses = self.addresses

        details = self.details

        name = self.name

        total = self.total

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if addresses is not UNSET:
            field_dict["addresses"] = addresses
        if details is not UNSET:
            field_dict["details"] = details
        if name is not UNSET:
            field_dict["name"] = name
        if total is not UNSET:
            field_dict["total"] = total

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        addresses = cast(list[str], d.pop("addresses", UNSET))

        details = d.pop("details", UNSET)

        name = d.pop("name", UNSET)

        total = d.pop("total", UNSET)

        new_scan_request = cls(
            addresses=addresses,
            details=details,
            name=name,
            total=total,
        )

        new_scan_request.additional_properties = d
        return new_scan_request

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
