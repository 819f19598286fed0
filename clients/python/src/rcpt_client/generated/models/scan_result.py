from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

T = TypeVar("T", bound="ScanResult")


@_attrs_define
class ScanResult:
    """The result of one position.

    Attributes:
        position (int): Position in the list, from 0.
        status (bool | str): `true`: the mail server accepts the address. `false`: it refuses it. A string says why it
            can't be known. Compare it with `true`: a string counts as true in many languages.
    """

    position: int
    status: bool | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        position = self.position

        status: bool | str
        status = self.status

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "position": position,
                "status": status,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        position = d.pop("position")

        def _parse_status(data: object) -> bool | str:
            return cast(bool | str, data)

        status = _parse_status(d.pop("status"))

        scan_result = cls(
            position=position,
            status=status,
        )

        scan_result.additional_properties = d
        return scan_result

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
