"""The tools that this script was granted, as functions.

Calls may come from any thread, from asyncio (see ``aio``) and from forked processes. A process that is started anew
needs the descriptor: ``subprocess.run([...], pass_fds=[cofferdam_tools.FD])``. An error is an exception that says
what happened: ``Denied``, ``TimedOut``, ``CallLimit`` and others, all of them a ``ToolError``.
"""

from __future__ import annotations

import array
import json
import os
import queue
import socket
import struct
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Loaded when something is awaited: asyncio takes longer to load than most scripts do to run.
    import concurrent.futures

#: The descriptor by which a process opens connections of its own.
FD = 4
_AT_ONCE = 50
_LENGTH = struct.Struct(">I")
_CHUNK = 1 << 16
_encode = json.JSONEncoder().encode
_decode = json.JSONDecoder().raw_decode

#: Seconds that an answer is waited for awake, at most.
_AWAKE = 0.0005
#: With one processor, who waits awake is in the way of who answers.
_CAN_WAIT_AWAKE = len(os.sched_getaffinity(0)) > 1


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


class _Pace:
    """How answers of one tool are waited for: asleep, unless waiting awake was clearly faster when both were tried.

    On a machine with nothing else to do, going to sleep and being woken takes longer than a short call; on one that is
    busy, who waits awake takes the processor from who answers. The other side is told, and waits for the next call
    in the same way.
    """

    TRIED = 16
    #: Not counted: at the beginning everybody else is still used to the other way.
    BEFORE = 4
    SETTLED = 1000
    #: Nobody waits awake for what takes longer.
    WORTH = 0.002
    #: So many answers that come too late, and it is over.
    LATE = 8

    def __init__(self) -> None:
        self.awake = False
        self.settled = False
        self.calls = 0
        self.late = 0
        self.times: list[float] = []
        self.asleep = 0.0

    def took(self, seconds: float) -> None:
        """Counts a call."""
        self.calls += 1
        if self.settled:
            if self.awake and seconds > _AWAKE:
                self.late += 1
                self.awake = self.late < self.LATE
            if self.calls == self.SETTLED:
                self._next(awake=False, settled=False)
            return
        self.times.append(seconds)
        if self.calls < self.TRIED:
            return
        counted = sorted(self.times[self.BEFORE :])
        median = counted[len(counted) // 2]
        if self.awake:
            self._next(awake=median < 0.7 * self.asleep, settled=True)
        else:
            self.asleep = median
            tried = _CAN_WAIT_AWAKE and median < self.WORTH
            self._next(awake=tried, settled=not tried)

    def _next(self, *, awake: bool, settled: bool) -> None:
        self.awake, self.settled, self.calls, self.late = awake, settled, 0, 0
        self.times.clear()


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
        # A script may have set another one for its own sockets; a tool takes the time that it takes.
        ours.settimeout(None)
        self.socket = ours
        self.next = 0

    def call(self, tool: str, arguments: str, awake: bool) -> Any:
        self.next += 1
        soon = ', "soon": true' if awake else ""
        body = f'{{"id": {self.next}, "tool": {_encode(tool)}, "arguments": {{{arguments}}}{soon}}}'.encode()
        try:
            self.socket.sendall(_LENGTH.pack(len(body)) + body)
            answer, _ = _decode(self._read(awake).decode())
        except OSError as error:
            raise Unavailable(f"the connection was lost: {error}", "unavailable") from None
        error = answer.get("error")
        if error is not None:
            raise _KINDS.get(error["kind"], ToolError)(error["message"], error["kind"])
        return answer["result"]

    def _read(self, awake: bool) -> bytes | bytearray:
        """One frame: nothing comes behind an answer before the next call."""
        frame = self._first() if awake else self.socket.recv(_CHUNK)
        if len(frame) >= 4 and len(frame) == 4 + _LENGTH.unpack_from(frame)[0]:
            return frame[4:]
        parts = bytearray(frame)
        while len(parts) < 4 or len(parts) < 4 + _LENGTH.unpack_from(parts)[0]:
            part = self.socket.recv(1 << 18)
            if not part:
                raise OSError("the other side is gone")
            parts += part
        return parts[4:]

    def _first(self) -> bytes:
        """The beginning of an answer, waited for awake and then asleep."""
        until = perf_counter() + _AWAKE
        while perf_counter() < until:
            try:
                return self.socket.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
        return self.socket.recv(_CHUNK)


class _Pool:
    """Connections of this process; each serves one call at a time."""

    def __init__(self) -> None:
        #: Those that nobody uses; None stands for one that was lost.
        self.idle: queue.SimpleQueue[_Connection | None] = queue.SimpleQueue()
        self.made = 0
        self.paces: dict[str, _Pace] = {}
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
        # One by one: an encoder takes longer to make than most arguments to write, and texts need none.
        text = ", ".join([f"{_encode(name)}: {_encode(value)}" for name, value in arguments.items()])
        connection = self._take()
        # Only where one call is made at a time: other threads have something to do meanwhile.
        pace = self._pace(tool) if self.made == 1 else None
        kept: _Connection | None = None
        began = perf_counter()
        try:
            result = connection.call(tool, text, pace is not None and pace.awake)
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
            elif pace is not None:
                pace.took(perf_counter() - began)
            self.idle.put(kept)

    def _pace(self, tool: str) -> _Pace:
        pace = self.paces.get(tool)
        if pace is None:
            pace = self.paces[tool] = _Pace()
        return pace

    async def acall(self, tool: str, arguments: dict[str, Any]) -> Any:
        import asyncio
        import concurrent.futures

        with self.lock:
            if self.executor is None:
                self.executor = concurrent.futures.ThreadPoolExecutor(_AT_ONCE)
        return await asyncio.get_running_loop().run_in_executor(self.executor, self.call, tool, arguments)


_pool = _Pool()


def _after_fork() -> None:
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_after_fork)


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
