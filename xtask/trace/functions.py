"""The functions of a program that run when it is started, in the order in which they first do.

    functions.py PROGRAM -- ARGUMENT…

Goes through it and all that it starts one instruction at a time, until they become another program, and prints the names.
"""

import bisect
import ctypes
import os
import signal
import subprocess
import sys

TRACEME, PEEKUSER, SINGLESTEP, DETACH, SETOPTIONS = 0, 3, 9, 17, 0x4200
OPTIONS = 0x2 | 0x4 | 0x8 | 0x10 | 0x100000  # fork, vfork, clone, exec; none of them outlives this program
EVENT_EXEC = 4
RIP = 16 * 8
STOPPED_BY = (signal.SIGTRAP, signal.SIGSTOP)

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def functions(program):
    """Where each begins, and what it is called."""
    listed = subprocess.run(["nm", "--defined-only", "--numeric-sort", program], check=True, capture_output=True, text=True)
    lines = (line.split() for line in listed.stdout.splitlines())
    return [(int(address, 16), name) for address, kind, name in lines if kind in "tTwW"]


def trace(arguments):
    """The places that are run, in the order of their first time."""
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        libc.ptrace(TRACEME, 0, None, None)
        os.execv(arguments[0], arguments)
    os.waitpid(pid, 0)
    libc.ptrace(SETOPTIONS, pid, None, OPTIONS)
    libc.ptrace(SINGLESTEP, pid, None, None)
    places = {}
    while True:
        try:
            pid, status = os.waitpid(-1, 0x40000000)
        except ChildProcessError:
            return places
        if not os.WIFSTOPPED(status):
            continue
        if status >> 16 == EVENT_EXEC:
            libc.ptrace(DETACH, pid, None, None)
            continue
        place = libc.ptrace(PEEKUSER, pid, RIP, None)
        if place not in places:
            places[place] = None
        stopped = os.WSTOPSIG(status)
        libc.ptrace(SINGLESTEP, pid, None, None if stopped in STOPPED_BY else stopped)


def main():
    program, arguments = sys.argv[1], sys.argv[3:]
    known = functions(program)
    starts = [start for start, _ in known]
    printed = set()
    for place in trace([program, *arguments]):
        at = bisect.bisect_right(starts, place) - 1
        if at >= 0 and known[at][1] not in printed:
            printed.add(known[at][1])
            print(known[at][1])


main()
