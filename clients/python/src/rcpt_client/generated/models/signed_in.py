from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="SignedIn")


@_attrs_define
class SignedIn:
    """A browser or program that is signed in.

    Attributes:
        browser (str): Such as `Firefox on Linux`.
        created_at (datetime.datetime): When it signed in.
        current (bool): Whether it is the session of this request.
        expires_at (datetime.datetime):
        id (str): Names the session when it is to be ended.
        country (None | str | Unset): Two letters (ISO 3166), such as `DE`. Null when it isn't known.
    """

    browser: str
    created_at: datetime.datetime
    current: bool
    expires_at: datetime.datetime
    id: str
    country: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        browser = self.browser

        created_at = self.created_at.isoformat()

        current = self.current

        expires_at = self.expires_at.isoformat()

        id = self.id

        country: None | str | Unset
        if isinstance(self.country, Unset):
            country = UNSET
        else:
            country = self.country

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "browser": browser,
                "created_at": created_at,
                "current": current,
                "expires_at": expires_at,
                "id": id,
            }
        )
        if country is not UNSET:
            field_dict["country"] = country

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        browser = d.pop("browser")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        current = d.pop("current")

        expires_at = datetime.datetime.fromisoformat(d.pop("expires_at"))

        id = d.pop("id")

        def _parse_country(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        country = _parse_country(d.pop("country", UNSET))

        signed_in = cls(
            browser=browser,
            created_at=created_at,
            current=current,
            expires_at=expires_at,
            id=id,
            country=country,
        )

        signed_in.additional_properties = d
        return signed_in

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
