"""Commands, sessions, and the two guards."""

from __future__ import annotations

import json
import os
import subprocess
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Type, Union

from ._program import CofferdamError, Path, options, program
from ._types import Refused, Verdict

Command = Union[str, Sequence[str]]


def _words(command: Command) -> List[str]:
    return ["sh", "-c", command] if isinstance(command, str) else list(command)


def run_words(command: Command, **sandbox: Any) -> List[str]:
    return [program(), "run", "--no-tty", *options(**sandbox), "--", *_words(command)]


def run(
    command: Command,
    *,
    input: Optional[bytes] = None,
    check: bool = False,
    capture_output: bool = True,
    **sandbox: Any,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in a sandbox to its end: a list of words, or a text for a shell.

    The status is the command's own; 124 when its time was up, 125 when there is no sandbox.
    """
    return subprocess.run(run_words(command, **sandbox), input=input, check=check, capture_output=capture_output)


def popen(command: Command, *, popen_options: Optional[Dict[str, Any]] = None, **sandbox: Any) -> "subprocess.Popen[bytes]":
    """Start a command in a sandbox. Ending the process that is returned ends everything in it."""
    return subprocess.Popen(run_words(command, **sandbox), **(popen_options or {}))


class Session:
    """A sandbox that stays: directory, variables and background processes last from command to command."""

    def __init__(self, name: str) -> None:
        self.name = name

    def exec(self, command: Command, *, timeout: Optional[float] = None) -> "subprocess.CompletedProcess[bytes]":
        words = [program(), "session", "exec", self.name, *options(timeout=timeout)]
        words += ["-c", command] if isinstance(command, str) else ["--", *command]
        return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)

    def kill(self) -> None:
        _checked([program(), "session", "kill", self.name])

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.kill()


def session(name: Optional[str] = None, **sandbox: Any) -> Session:
    """Make a sandbox that stays until it is killed or left as a context manager."""
    words = [program(), "session", "new", *(["--name", name] if name else []), *options(**sandbox)]
    return Session(_checked(words).strip())


def check_command(command: str, *, directory: Optional[Path] = None) -> Verdict:
    """What a command would do, and whether somebody has to be asked. Nothing is run."""
    where = ["--directory", os.fspath(directory)] if directory is not None else []
    words = [program(), "approvals", "check", "--json", *where, "--", command]
    ended = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return verdict(ended.returncode, ended.stdout, ended.stderr)


def verdict(status: int, stdout: str, stderr: str) -> Verdict:
    if status not in (0, 2, 3):
        raise CofferdamError(stderr, status)
    return Verdict.of(json.loads(stdout))


def subprocess_env() -> Dict[str, str]:
    """The environment that an unknown program would get: no credential, nothing that takes it over."""
    answer = json.loads(_checked([program(), "env", "show", "--json"]))
    return {variable["name"]: variable["value"] for variable in answer["passed"]}


def read_guard(path: Path) -> bytes:
    """Read a file if an agent may read it; otherwise :class:`Refused`. What is returned is what was judged."""
    words = [program(), "read-guard", "--print", "--", os.fspath(path)]
    ended = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    return guarded(os.fspath(path), ended.returncode, ended.stdout, ended.stderr)


def guarded(path: str, status: int, stdout: bytes, stderr: bytes) -> bytes:
    said = (stderr or stdout).decode(errors="replace").strip()
    if status == 3:
        raise Refused(path, said)
    if status != 0:
        raise CofferdamError(said, status)
    return stdout


def _checked(words: List[str]) -> str:
    ended = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ended.returncode != 0:
        raise CofferdamError(ended.stderr, ended.returncode)
    return ended.stdout
