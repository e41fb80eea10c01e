"""Run what an agent starts where there are no keys.

A thin client for the ``cofferdam`` program: every function starts it, so whatever it enforces holds here too. The same
functions for asyncio are in :mod:`cofferdam.aio`. Nothing but the standard library is needed.
"""

from ._code import CodeResult, HostTool, execute_code
from ._program import CofferdamError, program
from ._run import Session, check_command, popen, read_guard, run, session, subprocess_env
from ._types import Finding, Refused, Verdict

__all__ = [
    "CodeResult",
    "CofferdamError",
    "Finding",
    "HostTool",
    "Refused",
    "Session",
    "Verdict",
    "check_command",
    "execute_code",
    "popen",
    "program",
    "read_guard",
    "run",
    "session",
    "subprocess_env",
]
