"""The same functions for asyncio."""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
from typing import Any, Dict, Optional

from . import _code, _run
from ._code import CodeResult
from ._program import Path, program
from ._run import Command
from ._types import Verdict


async def run(
    command: Command, *, input: Optional[bytes] = None, check: bool = False, **sandbox: Any
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in a sandbox to its end. Cancelling ends it, and everything that it has started."""
    words = _run.run_words(command, **sandbox)
    ended = await _to_end(words, input)
    if check:
        ended.check_returncode()
    return ended


async def popen(command: Command, **sandbox: Any) -> asyncio.subprocess.Process:
    """Start a command in a sandbox, with its standard streams as pipes."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*_run.run_words(command, **sandbox), stdin=pipe, stdout=pipe, stderr=pipe)


class Session:
    """A sandbox that stays; see :class:`cofferdam.Session`."""

    def __init__(self, inner: _run.Session) -> None:
        self.name = inner.name
        self._inner = inner

    async def exec(self, command: Command, *, timeout: Optional[float] = None) -> "subprocess.CompletedProcess[bytes]":
        return await _in_thread(self._inner.exec, command, timeout=timeout)

    async def kill(self) -> None:
        await _in_thread(self._inner.kill)

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()


async def session(name: Optional[str] = None, **sandbox: Any) -> Session:
    return Session(await _in_thread(_run.session, name, **sandbox))


async def check_command(command: str, *, directory: Optional[Path] = None) -> Verdict:
    where = ["--directory", os.fspath(directory)] if directory is not None else []
    ended = await _to_end([program(), "approvals", "check", "--json", *where, "--", command], None)
    return _run.verdict(ended.returncode, ended.stdout.decode(), ended.stderr.decode(errors="replace"))


async def subprocess_env() -> Dict[str, str]:
    return await _in_thread(_run.subprocess_env)


async def read_guard(path: Path) -> bytes:
    ended = await _to_end([program(), "read-guard", "--print", "--", os.fspath(path)], None)
    return _run.guarded(os.fspath(path), ended.returncode, ended.stdout, ended.stderr)


async def execute_code(code: str, **options: Any) -> CodeResult:
    """Run a script in a sandbox; functions among ``host_tools`` are called on threads of their own."""
    return await _in_thread(_code.execute_code, code, **options)


async def _in_thread(function: Any, *positional: Any, **named: Any) -> Any:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, functools.partial(function, *positional, **named))


async def _to_end(words: "list[str]", input: Optional[bytes]) -> "subprocess.CompletedProcess[bytes]":
    pipe = asyncio.subprocess.PIPE
    stdin = asyncio.subprocess.DEVNULL if input is None else pipe
    process = await asyncio.create_subprocess_exec(*words, stdin=stdin, stdout=pipe, stderr=pipe)
    try:
        stdout, stderr = await process.communicate(input)
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise
    assert process.returncode is not None
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)
