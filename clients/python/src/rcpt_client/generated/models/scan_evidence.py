from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="ScanEvidence")


@_attrs_define
class ScanEvidence:
    """The evidence behind a verdict of a scan; present when the scan was made with `details`. A field is null when
    there is nothing to tell.

        Attributes:
            catch_all (str): Whether the domain takes mail for every recipient: `yes`, `no` or `unknown`. Example: no.
            confidence (str): How much the evidence says about this mailbox: `high`, `medium`, `low` or `none`. Example:
                high.
            disposable (bool): Whether the domain hands out throw-away addresses.
            free_provider (bool): Whether everyone can get an address at the domain for free.
            reason (str): Why the verdict is what it is. Example: no_such_mailbox.
            role_account (bool): Whether the local part names a function and not a person.
            stage (str): Where in the conversation the verdict was reached. Example: rcpt.
            verdict (str): `deliverable`, `undeliverable`, `risky` or `unknown`. Example: undeliverable.
            enhanced_code (None | str | Unset): Its enhanced status code (RFC 3463).
            operator (None | str | Unset): Who runs the mail server, such as `google` or `microsoft`; null when it isn't a
                known operator.
            retry_after (int | None | Unset): Seconds after which asking again may give another answer.
            smtp_code (int | None | Unset): The server's reply code.
            tls (bool | None | Unset): Whether the conversation was encrypted; null when there was none.
    """

    catch_all: str
    confidence: str
    disposable: bool
    free_provider: bool
    reason: str
    role_account: bool
    stage: str
    verdict: str
    enhanced_code: None | str | Unset = UNSET
    operator: None | str | Unset = UNSET
    retry_after: int | None | Unset = UNSET
    smtp_code: int | None | Unset = UNSET
    tls: bool | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        catch_all = self.catch_all

        confidence = self.confidence

        disposable = self.disposable

        free_provider = self.free_provider

        reason = self.reason

        role_account = self.role_account

        stage = self.stage

        verdict = self.verdict

        enhanced_code: None | str | Unset
        if isinstance(self.enhanced_code, Unset):
            enhanced_code = UNSET
        else:
            enhanced_code = self.enhanced_code

        operator: None | str | Unset
        if isinstance(self.operator, Unset):
            operator = UNSET
        else:
            operator = self.operator

        retry_after: int | None | Unset
        if isinstance(self.retry_after, Unset):
            retry_after = UNSET
        else:
            retry_after = self.retry_after

        smtp_code: int | None | Unset
        if isinstance(self.smtp_code, Unset):
            smtp_code = UNSET
        else:
            smtp_code = self.smtp_code

        tls: bool | None | Unset
        if isinstance(self.tls, Unset):
            tls = UNSET
        else:
            tls = self.tls

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "catch_all": catch_all,
                "confidence": confidence,
                "disposable": disposable,
                "free_provider": free_provider,
                "reason": reason,
                "role_account": role_account,
                "stage": stage,
                "verdict": verdict,
            }
        )
        if enhanced_code is not UNSET:
            field_dict["enhanced_code"] = enhanced_code
        if operator is not UNSET:
            field_dict["operator"] = operator
        if retry_after is not UNSET:
            field_dict["retry_after"] = retry_after
        if smtp_code is not UNSET:
            field_dict["smtp_code"] = smtp_code
        if tls is not UNSET:
            field_dict["tls"] = tls

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        catch_all = d.pop("catch_all")

        confidence = d.pop("confidence")

        disposable = d.pop("disposable")

        free_provider = d.pop("free_provider")

        reason = d.pop("reason")

        role_account = d.pop("role_account")

        stage = d.pop("stage")

        verdict = d.pop("verdict")

        def _parse_enhanced_code(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        enhanced_code = _parse_enhanced_code(d.pop("enhanced_code", UNSET))

        def _parse_operator(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        operator = _parse_operator(d.pop("operator", UNSET))

        def _parse_retry_after(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        retry_after = _parse_retry_after(d.pop("retry_after", UNSET))

        def _parse_smtp_code(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        smtp_code = _parse_smtp_code(d.pop("smtp_code", UNSET))

        def _parse_tls(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        tls = _parse_tls(d.pop("tls", UNSET))

        scan_evidence = cls(
            catch_all=catch_all,
            confidence=confidence,
            disposable=disposable,
            free_provider=free_provider,
            reason=reason,
            role_account=role_account,
            stage=stage,
            verdict=verdict,
            enhanced_code=enhanced_code,
            operator=operator,
            retry_after=retry_after,
            smtp_code=smtp_code,
            tls=tls,
        )

        scan_evidence.additional_properties = d
        return scan_evidence

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
