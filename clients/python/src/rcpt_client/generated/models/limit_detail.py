from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

T = TypeVar("T", bound="LimitDetail")


@_attrs_define
class LimitDetail:
    """`detail` of a 429 of the allowances.

    Attributes:
        error (str): Names the limit and the reset time.
        limit (str): Which limit was reached.
        resets_at (datetime.datetime):
    """

    error: str
    limit: str
    resets_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        error = self.error

        limit = self.limit

        resets_at = self.resets_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "error": error,
                "limit": limit,
                "resets_at": resets_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        error = d.pop("error")

        limit = d.pop("limit")

        resets_at = datetime.datetime.fromisoformat(d.pop("resets_at"))

        limit_detail = cls(
            error=error,
            limit=limit,
            resets_at=resets_at,
        )

        limit_detail.additional_properties = d
        return limit_detail

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
