from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.details import Details


T = TypeVar("T", bound="ValidationResult")


@_attrs_define
class ValidationResult:
    """The verdict about one address.

    Attributes:
        email (str): The address that was checked.
        status (bool | str): `true`: the mail server accepts the address. `false`: it refuses it. A string says why it
            can't be known. Compare it with `true`: a string counts as true in many languages.
        cached (bool | Unset): Whether this is the result of a recent identical check. Absent when `status` is
            `invalid_format`.
        details (Details | Unset): The evidence behind a verdict. A field is null when there is nothing to say.
    """

    email: str
    status: bool | str
    cached: bool | Unset = UNSET
    details: Details | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        email = self.email

        status: bool | str
        status = self.status

        cached = self.cached

        details: dict[str, Any] | Unset = UNSET
        if not isinstance(self.details, Unset):
            details = self.details.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "email": email,
                "status": status,
            }
        )
        if cached is not UNSET:
            field_dict["cached"] = cached
        if details is not UNSET:
            field_dict["details"] = details

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.details import Details

        d = dict(src_dict)
        email = d.pop("email")

        def _parse_status(data: object) -> bool | str:
            return cast(bool | str, data)

        status = _parse_status(d.pop("status"))

        cached = d.pop("cached", UNSET)

        _details = d.pop("details", UNSET)
        details: Details | Unset
        if isinstance(_details, Unset):
            details = UNSET
        else:
            details = Details.from_dict(_details)

        validation_result = cls(
            email=email,
            status=status,
            cached=cached,
            details=details,
        )

        validation_result.additional_properties = d
        return validation_result

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
