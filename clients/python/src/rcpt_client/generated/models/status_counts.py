from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

T = TypeVar("T", bound="StatusCounts")


@_attrs_define
class StatusCounts:
    """Final verdicts by status.

    Attributes:
        blocked_by_provider (int):
        domain_not_found (int):
        false_ (int):
        fatal_exception (int):
        invalid_format (int):
        no_mx_records (int):
        smtp_connect_error (int):
        smtp_timeout (int):
        true_ (int):
    """

    blocked_by_provider: int
    domain_not_found: int
    false_: int
    fatal_exception: int
    invalid_format: int
    no_mx_records: int
    smtp_connect_error: int
    smtp_timeout: int
    true_: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        blocked_by_provider = self.blocked_by_provider

        domain_not_found = self.domain_not_found

        false_ = self.false_

        fatal_exception = self.fatal_exception

        invalid_format = self.invalid_format

        no_mx_records = self.no_mx_records

        smtp_connect_error = self.smtp_connect_error

        smtp_timeout = self.smtp_timeout

        true_ = self.true_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "blocked_by_provider": blocked_by_provider,
                "domain_not_found": domain_not_found,
                "false": false_,
                "fatal_exception": fatal_exception,
                "invalid_format": invalid_format,
                "no_mx_records": no_mx_records,
                "smtp_connect_error": smtp_connect_error,
                "smtp_timeout": smtp_timeout,
                "true": true_,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        blocked_by_provider = d.pop("blocked_by_provider")

        domain_not_found = d.pop("domain_not_found")

        false_ = d.pop("false")

        fatal_exception = d.pop("fatal_exception")

        invalid_format = d.pop("invalid_format")

        no_mx_records = d.pop("no_mx_records")

        smtp_connect_error = d.pop("smtp_connect_error")

        smtp_timeout = d.pop("smtp_timeout")

        true_ = d.pop("true")

        status_counts = cls(
            blocked_by_provider=blocked_by_provider,
            domain_not_found=domain_not_found,
            false_=false_,
            fatal_exception=fatal_exception,
            invalid_format=invalid_format,
            no_mx_records=no_mx_records,
            smtp_connect_error=smtp_connect_error,
            smtp_timeout=smtp_timeout,
            true_=true_,
        )

        status_counts.additional_properties = d
        return status_counts

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
