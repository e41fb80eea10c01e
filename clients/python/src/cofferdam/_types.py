"""What the functions give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List


@dataclass(frozen=True)
class Finding:
    """One reason to stop."""

    rule: str
    sentence: str
    decision: str
    severity: str
    category: str
    words: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the gate says of a command: ``allow``, ``ask`` or ``deny``."""

    decision: str
    findings: List[Finding] = field(default_factory=list)

    @property
    def allowed(self) -> bool:
        return self.decision == "allow"

    @classmethod
    def of(cls, answer: "dict[str, Any]") -> "Verdict":
        return cls(answer["verdict"], [Finding(**finding) for finding in answer["findings"]])


class Refused(PermissionError):
    """A file may not be read; the text says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason
