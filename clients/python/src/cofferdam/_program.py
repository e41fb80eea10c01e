"""Finding and calling the program."""

from __future__ import annotations

import os
import shutil
from typing import Iterable, List, Mapping, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]


class CofferdamError(RuntimeError):
    """The program could not do what was asked; the text is what it said."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message.strip())
        self.status = status


def program() -> str:
    """The program: ``$COFFERDAM`` if set, otherwise from the search path."""
    found = os.environ.get("COFFERDAM") or shutil.which("cofferdam")
    if not found:
        raise CofferdamError("cofferdam is not installed, or not on the search path", 127)
    return found


def options(
    *,
    workspace: Optional[Path] = None,
    read: Iterable[Path] = (),
    write: Iterable[Path] = (),
    hide: Iterable[Path] = (),
    env: Optional[Mapping[str, Optional[str]]] = None,
    profile: Optional[str] = None,
    timeout: Optional[float] = None,
    memory: Optional[str] = None,
    arguments: Sequence[str] = (),
) -> List[str]:
    """The options that every kind of sandbox has. ``env`` with ``None`` passes a variable of this process on."""
    words: List[str] = []
    if workspace is not None:
        words += ["--workspace", os.fspath(workspace)]
    for name, paths in (("--read", read), ("--write", write), ("--hide", hide)):
        for path in paths:
            words += [name, os.fspath(path)]
    for variable, value in (env or {}).items():
        words += ["--env", variable if value is None else f"{variable}={value}"]
    if profile is not None:
        words += ["--profile", profile]
    if timeout is not None:
        words += ["--timeout", f"{max(1, round(timeout * 1000))}ms"]
    if memory is not None:
        words += ["--memory", memory]
    return [*words, *arguments]
