from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

T = TypeVar("T", bound="TotpSetUp")


@_attrs_define
class TotpSetUp:
    """Response of `POST /auth/totp/setup`: shown once.

    Attributes:
        otpauth_url (str): For scanning, as a QR code.
        secret (str): Base32, for typing into an authenticator.
    """

    otpauth_url: str
    secret: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        otpauth_url = self.otpauth_url

        secret = self.secret

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "otpauth_url": otpauth_url,
                "secret": secret,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        otpauth_url = d.pop("otpauth_url")

        secret = d.pop("secret")

        totp_set_up = cls(
            otpauth_url=otpauth_url,
            secret=secret,
        )

        totp_set_up.additional_properties = d
        return totp_set_up

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
