from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from typing_extensions import Self

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.status_counts import StatusCounts


T = TypeVar("T", bound="Scan")


@_attrs_define
class Scan:
    """A list that is checked in the background.

    Attributes:
        answered (int): Positions with a final verdict.
        counts (StatusCounts): Final verdicts by status.
        created_at (datetime.datetime):
        details (bool): Whether results have the evidence behind the verdict.
        id (str):
        name (str):
        received (int): Positions that were sent.
        state (str): `open` (parts are missing), `running`, `completed`, `cancelled` or `expired`. Example: running.
        total (int): Positions of the list.
        waiting (int): Positions whose server asked for patience: they're asked again later.
        completed_at (datetime.datetime | None | Unset): When the scan ended; null while it is under way.
        estimated_seconds_left (int | None | Unset): From the pace of the last minutes; null when nothing can be said.
        results_until (datetime.datetime | None | Unset): When the results are removed; null while the scan is under
            way.
    """

    answered: int
    counts: StatusCounts
    created_at: datetime.datetime
    details: bool
    id: str
    name: str
    received: int
    state: str
    total: int
    waiting: int
    completed_at: datetime.datetime | None | Unset = UNSET
    estimated_seconds_left: int | None | Unset = UNSET
    results_until: datetime.datetime | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        answered = self.answered

        counts = self.counts.to_dict()

        created_at = self.created_at.isoformat()

        details = self.details

        id = self.id

        name = self.name

        received = self.received

        state = self.state

        total = self.total

        waiting = self.waiting

        completed_at: None | str | Unset
        if isinstance(self.completed_at, Unset):
            completed_at = UNSET
        elif isinstance(self.completed_at, datetime.datetime):
            completed_at = self.completed_at.isoformat()
        else:
            completed_at = self.completed_at

        estimated_seconds_left: int | None | Unset
        if isinstance(self.estimated_seconds_left, Unset):
            estimated_seconds_left = UNSET
        else:
            estimated_seconds_left = self.estimated_seconds_left

        results_until: None | str | Unset
        if isinstance(self.results_until, Unset):
            results_until = UNSET
        elif isinstance(self.results_until, datetime.datetime):
            results_until = self.results_until.isoformat()
        else:
            results_until = self.results_until

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "answered": answered,
                "counts": counts,
                "created_at": created_at,
                "details": details,
                "id": id,
                "name": name,
                "received": received,
                "state": state,
                "total": total,
                "waiting": waiting,
            }
        )
        if completed_at is not UNSET:
            field_dict["completed_at"] = completed_at
        if estimated_seconds_left is not UNSET:
            field_dict["estimated_seconds_left"] = estimated_seconds_left
        if results_until is not UNSET:
            field_dict["results_until"] = results_until

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.status_counts import StatusCounts

        d = dict(src_dict)
        answered = d.pop("answered")

        counts = StatusCounts.from_dict(d.pop("counts"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        details = d.pop("details")

        id = d.pop("id")

        name = d.pop("name")

        received = d.pop("received")

        state = d.pop("state")

        total = d.pop("total")

        waiting = d.pop("waiting")

        def _parse_completed_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                completed_at_type_0 = datetime.datetime.fromisoformat(data)

                return completed_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        completed_at = _parse_completed_at(d.pop("completed_at", UNSET))

        def _parse_estimated_seconds_left(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        estimated_seconds_left = _parse_estimated_seconds_left(
            d.pop("estimated_seconds_left", UNSET)
        )

        def _parse_results_until(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                results_until_type_0 = datetime.datetime.fromisoformat(data)

                return results_until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        results_until = _parse_results_until(d.pop("results_until", UNSET))

        scan = cls(
            answered=answered,
            counts=counts,
            created_at=created_at,
            details=details,
            id=id,
            name=name,
            received=received,
            state=state,
            total=total,
            waiting=waiting,
            completed_at=completed_at,
            estimated_seconds_left=estimated_seconds_left,
            results_until=results_until,
        )

        scan.additional_properties = d
        return scan

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
