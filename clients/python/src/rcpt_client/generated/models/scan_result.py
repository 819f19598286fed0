from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="ScanResult")


@_attrs_define
class ScanResult:
    """The result of one position. Beyond the status it has what the scan was made with `details` for; a member is null
    when there is nothing to tell.

        Attributes:
            position (int): Position in the list, from 0.
            status (bool | str): `true`: the mail server accepts the address. `false`: it refuses it. A string says why it
                can't be known. Compare it with `true`: a string counts as true in many languages.
            catch_all (None | str | Unset): Whether the domain takes mail for every recipient: `yes`, `no` or `unknown`.
                Example: no.
            confidence (None | str | Unset): How much the evidence says about this mailbox: `high`, `medium`, `low` or
                `none`. Example: high.
            disposable (bool | None | Unset): Whether the domain hands out throw-away addresses.
            enhanced_code (None | str | Unset): Its enhanced status code (RFC 3463).
            free_provider (bool | None | Unset): Whether everyone can get an address at the domain for free.
            operator (None | str | Unset): Who runs the mail server, such as `google` or `microsoft`; null when it isn't a
                known operator.
            reason (None | str | Unset): Why the verdict is what it is. Example: no_such_mailbox.
            retry_after (int | None | Unset): Seconds after which asking again may give another answer.
            role_account (bool | None | Unset): Whether the local part names a function and not a person.
            smtp_code (int | None | Unset): The server's reply code.
            stage (None | str | Unset): Where in the conversation the verdict was reached. Example: rcpt.
            tls (bool | None | Unset): Whether the conversation was encrypted; null when there was none.
            verdict (None | str | Unset): `deliverable`, `undeliverable`, `risky` or `unknown`. Example: undeliverable.
    """

    position: int
    status: bool | str
    catch_all: None | str | Unset = UNSET
    confidence: None | str | Unset = UNSET
    disposable: bool | None | Unset = UNSET
    enhanced_code: None | str | Unset = UNSET
    free_provider: bool | None | Unset = UNSET
    operator: None | str | Unset = UNSET
    reason: None | str | Unset = UNSET
    retry_after: int | None | Unset = UNSET
    role_account: bool | None | Unset = UNSET
    smtp_code: int | None | Unset = UNSET
    stage: None | str | Unset = UNSET
    tls: bool | None | Unset = UNSET
    verdict: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        position = self.position

        status: bool | str
        status = self.status

        catch_all: None | str | Unset
        if isinstance(self.catch_all, Unset):
            catch_all = UNSET
        else:
            catch_all = self.catch_all

        confidence: None | str | Unset
        if isinstance(self.confidence, Unset):
            confidence = UNSET
        else:
            confidence = self.confidence

        disposable: bool | None | Unset
        if isinstance(self.disposable, Unset):
            disposable = UNSET
        else:
            disposable = self.disposable

        enhanced_code: None | str | Unset
        if isinstance(self.enhanced_code, Unset):
            enhanced_code = UNSET
        else:
            enhanced_code = self.enhanced_code

        free_provider: bool | None | Unset
        if isinstance(self.free_provider, Unset):
            free_provider = UNSET
        else:
            free_provider = self.free_provider

        operator: None | str | Unset
        if isinstance(self.operator, Unset):
            operator = UNSET
        else:
            operator = self.operator

        reason: None | str | Unset
        if isinstance(self.reason, Unset):
            reason = UNSET
        else:
            reason = self.reason

        retry_after: int | None | Unset
        if isinstance(self.retry_after, Unset):
            retry_after = UNSET
        else:
            retry_after = self.retry_after

        role_account: bool | None | Unset
        if isinstance(self.role_account, Unset):
            role_account = UNSET
        else:
            role_account = self.role_account

        smtp_code: int | None | Unset
        if isinstance(self.smtp_code, Unset):
            smtp_code = UNSET
        else:
            smtp_code = self.smtp_code

        stage: None | str | Unset
        if isinstance(self.stage, Unset):
            stage = UNSET
        else:
            stage = self.stage

        tls: bool | None | Unset
        if isinstance(self.tls, Unset):
            tls = UNSET
        else:
            tls = self.tls

        verdict: None | str | Unset
        if isinstance(self.verdict, Unset):
            verdict = UNSET
        else:
            verdict = self.verdict

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "position": position,
                "status": status,
            }
        )
        if catch_all is not UNSET:
            field_dict["catch_all"] = catch_all
        if confidence is not UNSET:
            field_dict["confidence"] = confidence
        if disposable is not UNSET:
            field_dict["disposable"] = disposable
        if enhanced_code is not UNSET:
            field_dict["enhanced_code"] = enhanced_code
        if free_provider is not UNSET:
            field_dict["free_provider"] = free_provider
        if operator is not UNSET:
            field_dict["operator"] = operator
        if reason is not UNSET:
            field_dict["reason"] = reason
        if retry_after is not UNSET:
            field_dict["retry_after"] = retry_after
        if role_account is not UNSET:
            field_dict["role_account"] = role_account
        if smtp_code is not UNSET:
            field_dict["smtp_code"] = smtp_code
        if stage is not UNSET:
            field_dict["stage"] = stage
        if tls is not UNSET:
            field_dict["tls"] = tls
        if verdict is not UNSET:
            field_dict["verdict"] = verdict

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        position = d.pop("position")

        def _parse_status(data: object) -> bool | str:
            return cast(bool | str, data)

        status = _parse_status(d.pop("status"))

        def _parse_catch_all(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        catch_all = _parse_catch_all(d.pop("catch_all", UNSET))

        def _parse_confidence(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        confidence = _parse_confidence(d.pop("confidence", UNSET))

        def _parse_disposable(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        disposable = _parse_disposable(d.pop("disposable", UNSET))

        def _parse_enhanced_code(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        enhanced_code = _parse_enhanced_code(d.pop("enhanced_code", UNSET))

        def _parse_free_provider(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        free_provider = _parse_free_provider(d.pop("free_provider", UNSET))

        def _parse_operator(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        operator = _parse_operator(d.pop("operator", UNSET))

        def _parse_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        reason = _parse_reason(d.pop("reason", UNSET))

        def _parse_retry_after(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        retry_after = _parse_retry_after(d.pop("retry_after", UNSET))

        def _parse_role_account(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        role_account = _parse_role_account(d.pop("role_account", UNSET))

        def _parse_smtp_code(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        smtp_code = _parse_smtp_code(d.pop("smtp_code", UNSET))

        def _parse_stage(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        stage = _parse_stage(d.pop("stage", UNSET))

        def _parse_tls(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        tls = _parse_tls(d.pop("tls", UNSET))

        def _parse_verdict(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        verdict = _parse_verdict(d.pop("verdict", UNSET))

        scan_result = cls(
            position=position,
            status=status,
            catch_all=catch_all,
            confidence=confidence,
            disposable=disposable,
            enhanced_code=enhanced_code,
            free_provider=free_provider,
            operator=operator,
            reason=reason,
            retry_after=retry_after,
            role_account=role_account,
            smtp_code=smtp_code,
            stage=stage,
            tls=tls,
            verdict=verdict,
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
