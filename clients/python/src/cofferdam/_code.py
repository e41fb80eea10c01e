"""Scripts with tools, among them tools of this program."""

from __future__ import annotations

import concurrent.futures
import inspect
import json
import os
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from ._program import CofferdamError, Path, options, program

_AT_ONCE = 50
_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


@dataclass(frozen=True)
class HostTool:
    """A function of this program that a script may call."""

    function: Callable[..., Any]
    name: str = ""
    description: str = ""
    schema: Optional[Dict[str, Any]] = None

    def declared(self) -> Dict[str, Any]:
        return {
            "name": self.name or self.function.__name__,
            "description": self.description or inspect.getdoc(self.function) or "",
            "schema": self.schema or _schema(self.function),
        }


@dataclass(frozen=True)
class CodeResult:
    """How a script ended."""

    status: str
    output: str
    stderr: str
    exit_code: Optional[int]
    error: Optional[str]
    calls: List[Dict[str, Any]] = field(default_factory=list)
    duration_seconds: float = 0.0
    raw: Dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "success"


def execute_code(
    code: str,
    *,
    language: str = "python",
    tools: Iterable[str] = (),
    host_tools: Union[Iterable[Union[HostTool, Callable[..., Any]]], None] = None,
    session: str = "command-line",
    session_kind: str = "interactive",
    max_calls: int = 50,
    on_event: Optional[Callable[[Mapping[str, Any]], None]] = None,
    via: Optional[Path] = None,
    **sandbox: Any,
) -> CodeResult:
    """Run a script in a sandbox. It is asked about as a whole before anything starts.

    ``tools`` are built in or configured; ``host_tools`` are functions of this program, which run here, outside of the
    sandbox, when the script calls them. ``on_event`` is called with each event as it happens. ``via`` is the socket
    of ``cofferdam exec-code --serve``; without it the program is started for this script.
    """
    offered = [tool if isinstance(tool, HostTool) else HostTool(tool) for tool in host_tools or ()]
    words = ["--language", language, "--session", session]
    words += ["--session-kind", session_kind, "--max-calls", str(max_calls)]
    granted = list(tools)
    if granted:
        words += ["--tools", ",".join(granted)]
    words += options(**sandbox)
    told = on_event or (lambda event: None)
    if via is not None:
        with _Connected(offered, via) as connected:
            return _result(connected.run(words, code, told))
    words = [program(), "exec-code", "--json", *words]
    with _Host(offered) as host:
        words += [*host.words, "-"]
        started = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=host.descriptors
        )
        with started as process:
            assert process.stdin and process.stdout and process.stderr
            host.started()
            said: List[bytes] = []
            errors = threading.Thread(target=lambda: said.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
            errors.start()
            process.stdin.write(code.encode())
            process.stdin.close()
            result: Optional[Dict[str, Any]] = None
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "result":
                    result = event
                told(event)
            errors.join()
            status = process.wait()
    if result is None:
        raise CofferdamError(b"".join(said).decode(errors="replace"), status)
    return _result(result)


def _result(result: Dict[str, Any]) -> CodeResult:
    named = ("status", "output", "stderr", "exit_code", "error", "calls", "duration_seconds")
    return CodeResult(**{name: result[name] for name in named}, raw=result)


def _schema(function: Callable[..., Any]) -> Dict[str, Any]:
    """What a function takes, by its annotations."""
    properties: Dict[str, Any] = {}
    required: List[str] = []
    hints = getattr(function, "__annotations__", {})
    names = {kind.__name__: kind for kind in _KINDS}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name)
        kind = _KINDS.get(names.get(hint, hint) if isinstance(hint, str) else hint)  # type: ignore[arg-type]
        properties[name] = {"type": kind} if kind else {}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class _Host:
    """Serves calls of this program's tools over a pair of sockets."""

    def __init__(self, tools: List[HostTool]) -> None:
        self.tools = {tool.declared()["name"]: tool for tool in tools}
        self.words: List[str] = []
        self.descriptors: List[int] = []
        self.lock = threading.Lock()

    def __enter__(self) -> "_Host":
        if self.tools:
            self.ours, self.theirs = socket.socketpair()
            self.words = ["--host-tools", str(self.theirs.fileno())]
            self.descriptors = [self.theirs.fileno()]
            self.pool = concurrent.futures.ThreadPoolExecutor(_AT_ONCE)
        return self

    def started(self) -> None:
        if self.tools:
            self.theirs.close()
            self._send({"tools": [tool.declared() for tool in self.tools.values()]})
            self.reader = threading.Thread(target=self._serve, daemon=True)
            self.reader.start()

    def __exit__(self, *_: object) -> None:
        if self.tools:
            self.theirs.close()
            self.ours.close()
            self.pool.shutdown(wait=False)

    def _serve(self) -> None:
        try:
            while True:
                self.pool.submit(self._answer, self._receive())
        except (OSError, RuntimeError):
            return

    def _answer(self, call: Dict[str, Any]) -> None:
        answer: Dict[str, Any] = {"id": call["id"]}
        try:
            answer["result"] = self.tools[call["tool"]].function(**call["arguments"])
            json.dumps(answer)
        except Exception as error:  # noqa: BLE001 - whatever a tool does wrong is the script's to hear
            answer.pop("result", None)
            kind = "denied" if isinstance(error, PermissionError) else "failed"
            answer["error"] = {"kind": kind, "message": f"{type(error).__name__}: {error}"}
        try:
            self._send(answer)
        except OSError:
            pass

    def _send(self, message: Dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        with self.lock:
            self.ours.sendall(struct.pack(">I", len(body)) + body)

    def _receive(self) -> Dict[str, Any]:
        (length,) = struct.unpack(">I", self._read(4))
        message: Dict[str, Any] = json.loads(self._read(length))
        return message

    def _read(self, length: int) -> bytes:
        parts = b""
        while len(parts) < length:
            part = self.ours.recv(length - len(parts))
            if not part:
                raise OSError("the other side is gone")
            parts += part
        return parts


class _Connected(_Host):
    """One connection to a program that serves scripts: events, calls and answers all go over it."""

    def __init__(self, tools: List[HostTool], path: Path) -> None:
        super().__init__(tools)
        self.path = os.fspath(path)

    def __enter__(self) -> "_Connected":
        self.ours = socket.socket(socket.AF_UNIX)
        self.ours.connect(self.path)
        self.pool = concurrent.futures.ThreadPoolExecutor(_AT_ONCE)
        return self

    def __exit__(self, *_: object) -> None:
        self.ours.close()
        self.pool.shutdown(wait=False)

    def run(self, words: List[str], code: str, told: Callable[[Mapping[str, Any]], None]) -> Dict[str, Any]:
        offered = [tool.declared() for tool in self.tools.values()]
        self._send({"options": words, "code": code, "tools": offered})
        while True:
            try:
                message = self._receive()
            except OSError as error:
                raise CofferdamError(f"the script was lost: {error}", 69) from None
            if "event" not in message:
                self.pool.submit(self._answer, message)
                continue
            if message["event"] == "error":
                raise CofferdamError(message["message"], message["status"])
            told(message)
            if message["event"] == "result":
                return message
