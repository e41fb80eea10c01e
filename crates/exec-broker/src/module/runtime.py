"""The tools that this script was granted, as functions.

Calls may come from any thread, from asyncio (see ``aio``) and from forked processes. A process that is started anew
needs the descriptor: ``subprocess.run([...], pass_fds=[cofferdam_tools.FD])``. An error is an exception that says
what happened: ``Denied``, ``TimedOut``, ``CallLimit`` and others, all of them a ``ToolError``.
"""

from __future__ import annotations

import array
import asyncio
import concurrent.futures
import json
import os
import queue
import socket
import struct
import threading
from typing import Any

#: The descriptor by which a process opens connections of its own.
FD = 4
_AT_ONCE = 50
_LENGTH = struct.Struct(">I")


class ToolError(Exception):
    """A call has no result. ``kind`` is a word for programs, the text is for people."""

    kind = "failed"

    def __init__(self, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class Denied(ToolError):
    """A person, a rule or a guard said no."""


class TimedOut(ToolError):
    """The tool did not end in time."""


class CallLimit(ToolError):
    """This script has made as many calls as it may."""


class BadArguments(ToolError, ValueError):
    """The arguments do not fit the tool."""


class UnknownTool(ToolError):
    """There is no such tool, or it was not granted."""


class Unavailable(ToolError):
    """There is nobody who serves calls: this process was not given the descriptor, or the script is being ended."""


_KINDS = {
    "denied": Denied,
    "timed-out": TimedOut,
    "call-limit": CallLimit,
    "bad-arguments": BadArguments,
    "unknown-tool": UnknownTool,
    "ended": Unavailable,
}


class _Connection:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            # A copy of the descriptor: closing it must not close the one that others use.
            with socket.socket(fileno=os.dup(FD)) as door:
                door.sendmsg([b"open"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
        except OSError as error:
            ours.close()
            raise Unavailable(f"there are no tools for this process: {error}", "unavailable") from None
        finally:
            theirs.close()
        self.socket = ours
        self.next = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        self.next += 1
        body = json.dumps({"id": self.next, "tool": tool, "arguments": arguments}).encode()
        try:
            self.socket.sendall(_LENGTH.pack(len(body)) + body)
            answer = json.loads(self._read())
        except OSError as error:
            raise Unavailable(f"the connection was lost: {error}", "unavailable") from None
        error = answer.get("error")
        if error is not None:
            raise _KINDS.get(error["kind"], ToolError)(error["message"], error["kind"])
        return answer["result"]

    def _read(self) -> bytes | bytearray:
        """One frame: nothing comes behind an answer before the next call."""
        frame = self.socket.recv(1 << 16)
        if len(frame) >= 4 and len(frame) == 4 + _LENGTH.unpack_from(frame)[0]:
            return frame[4:]
        parts = bytearray(frame)
        while len(parts) < 4 or len(parts) < 4 + _LENGTH.unpack_from(parts)[0]:
            part = self.socket.recv(1 << 18)
            if not part:
                raise OSError("the other side is gone")
            parts += part
        return parts[4:]


class _Pool:
    """Connections of this process; each serves one call at a time."""

    def __init__(self) -> None:
        #: Those that nobody uses; None stands for one that was lost.
        self.idle: queue.SimpleQueue[_Connection | None] = queue.SimpleQueue()
        self.made = 0
        self.executor: concurrent.futures.ThreadPoolExecutor | None = None
        self.lock = threading.Lock()

    def _take(self) -> _Connection:
        try:
            connection = self.idle.get_nowait()
        except queue.Empty:
            with self.lock:
                room = self.made < _AT_ONCE
                self.made += room
            connection = None if room else self.idle.get()
        if connection is not None:
            return connection
        try:
            return _Connection()
        except BaseException:
            self.idle.put(None)
            raise

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        connection = self._take()
        kept: _Connection | None = None
        try:
            result = connection.call(tool, arguments)
            kept = connection
            return result
        except ToolError as error:
            if error.kind != "unavailable":
                kept = connection
            raise
        finally:
            # Interrupted within a call, the answer to it would be taken for the answer to the next.
            if kept is None:
                connection.socket.close()
            self.idle.put(kept)

    async def acall(self, tool: str, arguments: dict[str, Any]) -> Any:
        with self.lock:
            if self.executor is None:
                self.executor = concurrent.futures.ThreadPoolExecutor(_AT_ONCE)
        return await asyncio.get_running_loop().run_in_executor(self.executor, self.call, tool, arguments)


_pool = _Pool()


def _after_fork() -> None:
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_after_fork)


def _given(parameters: list[tuple[str, Any, bool]]) -> dict[str, Any]:
    return {name: value for name, value, required in parameters if required or value is not None}


def _call(tool: str, arguments: dict[str, Any]) -> Any:
    return _pool.call(tool, arguments)


async def _acall(tool: str, arguments: dict[str, Any]) -> Any:
    return await _pool.acall(tool, arguments)


def call(tool: str, /, **arguments: Any) -> Any:
    """Call a tool by its name."""
    return _call(tool, arguments)


async def acall(tool: str, /, **arguments: Any) -> Any:
    """Call a tool by its name, to be awaited."""
    return await _acall(tool, arguments)
