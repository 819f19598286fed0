from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.scan import Scan


T = TypeVar("T", bound="ScanPage")


@_attrs_define
class ScanPage:
    """A page of scans.

    Attributes:
        scans (list[Scan]): Newest first.
        next_ (None | str | Unset): What `before` is for the next page; null when this is the last.
    """

    scans: list[Scan]
    next_: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        scans = []
        for scans_item_data in self.scans:
            scans_item = scans_item_data.to_dict()
            scans.append(scans_item)

        next_: None | str | Unset
        if isinstance(self.next_, Unset):
            next_ = UNSET
        else:
            next_ = self.next_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "scans": scans,
            }
        )
        if next_ is not UNSET:
            field_dict["next"] = next_

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.scan import Scan

        d = dict(src_dict)
        scans = []
        _scans = d.pop("scans")
        for scans_item_data in _scans:
            scans_item = Scan.from_dict(scans_item_data)

            scans.append(scans_item)

        def _parse_next_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        next_ = _parse_next_(d.pop("next", UNSET))

        scan_page = cls(
            scans=scans,
            next_=next_,
        )

        scan_page.additional_properties = d
        return scan_page

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
