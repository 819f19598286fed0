from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

T = TypeVar("T", bound="Details")


@_attrs_define
class Details:
    """The evidence behind a verdict. A field is null when there is nothing to say.

    Attributes:
        catch_all (str): Whether the domain accepts every recipient.
        confidence (str): How much the evidence says about this mailbox.
        disposable (bool): Whether the domain offers disposable addresses.
        duration_ms (int): How long the verdict took, in milliseconds.
        free_provider (bool): Whether the domain is a free email provider.
        reason (str): Why the verdict is what it is. New reasons may be added.
        role_account (bool): Whether the address names a function, such as `info`, and not a person.
        stage (str): Where the verdict was reached. New stages may be added.
        verdict (str): The verdict in one word. `risky` means accepted, but the server may accept every address.
        enhanced_code (None | str | Unset): The enhanced status code of the reply (RFC 3463), such as `5.1.1`.
        mx_host (None | str | Unset): The mail server that decided.
        operator (None | str | Unset): Who runs the mail server, such as `google` or `microsoft`. Null when it isn't a
            known operator.
        problem (None | str | Unset): What is wrong with the address, in words, when the reason is `malformed`.
        retry_after (int | None | Unset): Seconds after which another check may give a different result.
        smtp_code (int | None | Unset): The SMTP reply code of the mail server.
        smtp_text (None | str | Unset): The text of the reply, at most 512 characters, without addresses. Null in a
            cached result.
        suggestion (None | str | Unset): The address that was probably meant, when this one looks misspelled.
        tls (bool | None | Unset): Whether the connection was encrypted. Null when there was none.
    """

    catch_all: str
    confidence: str
    disposable: bool
    duration_ms: int
    free_provider: bool
    reason: str
    role_account: bool
    stage: str
    verdict: str
    enhanced_code: None | str | Unset = UNSET
    mx_host: None | str | Unset = UNSET
    operator: None | str | Unset = UNSET
    problem: None | str | Unset = UNSET
    retry_after: int | None | Unset = UNSET
    smtp_code: int | None | Unset = UNSET
    smtp_text: None | str | Unset = UNSET
    suggestion: None | str | Unset = UNSET
    tls: bool | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        catch_all = self.catch_all

        confidence = self.confidence

        disposable = self.disposable

        duration_ms = self.duration_ms

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

        mx_host: None | str | Unset
        if isinstance(self.mx_host, Unset):
            mx_host = UNSET
        else:
            mx_host = self.mx_host

        operator: None | str | Unset
        if isinstance(self.operator, Unset):
            operator = UNSET
        else:
            operator = self.operator

        problem: None | str | Unset
        if isinstance(self.problem, Unset):
            problem = UNSET
        else:
            problem = self.problem

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

        smtp_text: None | str | Unset
        if isinstance(self.smtp_text, Unset):
            smtp_text = UNSET
        else:
            smtp_text = self.smtp_text

        suggestion: None | str | Unset
        if isinstance(self.suggestion, Unset):
            suggestion = UNSET
        else:
            suggestion = self.suggestion

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
                "duration_ms": duration_ms,
                "free_provider": free_provider,
                "reason": reason,
                "role_account": role_account,
                "stage": stage,
                "verdict": verdict,
            }
        )
        if enhanced_code is not UNSET:
            field_dict["enhanced_code"] = enhanced_code
        if mx_host is not UNSET:
            field_dict["mx_host"] = mx_host
        if operator is not UNSET:
            field_dict["operator"] = operator
        if problem is not UNSET:
            field_dict["problem"] = problem
        if retry_after is not UNSET:
            field_dict["retry_after"] = retry_after
        if smtp_code is not UNSET:
            field_dict["smtp_code"] = smtp_code
        if smtp_text is not UNSET:
            field_dict["smtp_text"] = smtp_text
        if suggestion is not UNSET:
            field_dict["suggestion"] = suggestion
        if tls is not UNSET:
            field_dict["tls"] = tls

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        catch_all = d.pop("catch_all")

        confidence = d.pop("confidence")

        disposable = d.pop("disposable")

        duration_ms = d.pop("duration_ms")

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

        def _parse_mx_host(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        mx_host = _parse_mx_host(d.pop("mx_host", UNSET))

        def _parse_operator(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        operator = _parse_operator(d.pop("operator", UNSET))

        def _parse_problem(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        problem = _parse_problem(d.pop("problem", UNSET))

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

        def _parse_smtp_text(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        smtp_text = _parse_smtp_text(d.pop("smtp_text", UNSET))

        def _parse_suggestion(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        suggestion = _parse_suggestion(d.pop("suggestion", UNSET))

        def _parse_tls(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        tls = _parse_tls(d.pop("tls", UNSET))

        details = cls(
            catch_all=catch_all,
            confidence=confidence,
            disposable=disposable,
            duration_ms=duration_ms,
            free_provider=free_provider,
            reason=reason,
            role_account=role_account,
            stage=stage,
            verdict=verdict,
            enhanced_code=enhanced_code,
            mx_host=mx_host,
            operator=operator,
            problem=problem,
            retry_after=retry_after,
            smtp_code=smtp_code,
            smtp_text=smtp_text,
            suggestion=suggestion,
            tls=tls,
        )

        details.additional_properties = d
        return details

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
