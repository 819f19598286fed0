from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.limit_detail import LimitDetail


T = TypeVar("T", bound="LimitError")


@_attrs_define
class LimitError:
    """A 429: an allowance is used up, too many checks are in flight, or too many were sent in a short time.

    Attributes:
        detail (LimitDetail): `detail` of a 429 of the allowances.
        code (str | Unset): Absent when an allowance is used up.
    """

    detail: LimitDetail
    code: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        detail = self.detail.to_dict()

        code = self.code

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "detail": detail,
            }
        )
        if code is not UNSET:
            field_dict["code"] = code

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.limit_detail import LimitDetail

        d = dict(src_dict)
        detail = LimitDetail.from_dict(d.pop("detail"))

        code = d.pop("code", UNSET)

        limit_error = cls(
            detail=detail,
            code=code,
        )

        limit_error.additional_properties = d
        return limit_error

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
