from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

if TYPE_CHECKING:
    from ..models.email_check_allowance import EmailCheckAllowance
    from ..models.scan_allowance import ScanAllowance


T = TypeVar("T", bound="QuotaReport")


@_attrs_define
class QuotaReport:
    """The plan and what is left of the allowances.

    Attributes:
        completed_scans (int):
        email_checks (EmailCheckAllowance):
        plan (str): Name of the plan.
        resets_at (datetime.datetime): 00:00 UTC of the next day.
        scans (ScanAllowance):
        total_scans (int):
        unlimited (bool):
    """

    completed_scans: int
    email_checks: EmailCheckAllowance
    plan: str
    resets_at: datetime.datetime
    scans: ScanAllowance
    total_scans: int
    unlimited: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        completed_scans = self.completed_scans

        email_checks = self.email_checks.to_dict()

        plan = self.plan

        resets_at = self.resets_at.isoformat()

        scans = self.scans.to_dict()

        total_scans = self.total_scans

        unlimited = self.unlimited

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "completed_scans": completed_scans,
                "email_checks": email_checks,
                "plan": plan,
                "resets_at": resets_at,
                "scans": scans,
                "total_scans": total_scans,
                "unlimited": unlimited,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.email_check_allowance import EmailCheckAllowance
        from ..models.scan_allowance import ScanAllowance

        d = dict(src_dict)
        completed_scans = d.pop("completed_scans")

        email_checks = EmailCheckAllowance.from_dict(d.pop("email_checks"))

        plan = d.pop("plan")

        resets_at = datetime.datetime.fromisoformat(d.pop("resets_at"))

        scans = ScanAllowance.from_dict(d.pop("scans"))

        total_scans = d.pop("total_scans")

        unlimited = d.pop("unlimited")

        quota_report = cls(
            completed_scans=completed_scans,
            email_checks=email_checks,
            plan=plan,
            resets_at=resets_at,
            scans=scans,
            total_scans=total_scans,
            unlimited=unlimited,
        )

        quota_report.additional_properties = d
        return quota_report

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
