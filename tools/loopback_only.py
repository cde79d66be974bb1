#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command where no machine but this one can be reached: in a network namespace with the loopback device alone.

    tools/loopback_only.py COMMAND ARGUMENT…

Servers of tests listen on loopback, so whatever tries to reach another address fails. Where the system allows no such namespace, says so in one
line, and runs the command as it is.
"""
from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
INSIDE = "--inside"


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = int.from_bytes(fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH22x", b"lo", 0))[16:18], sys.byteorder)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | IFF_UP))


def way_in() -> "list[str]":
    """What stands before a command that is to run in such a namespace, which is tried; empty: there is no way."""
    for way in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        way += [sys.executable, __file__, INSIDE, str(os.getuid()), str(os.getgid())]
        if subprocess.run([*way, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            return way
    return []


def main() -> None:
    command = sys.argv[1:]
    if command[0] == INSIDE:   # in the namespace, as its root
        raise_loopback()
        user, group, *command = command[1:]
        if user != "0" and os.getuid() == 0:   # the user who called, without the rights of root
            command = ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", *command]
    else:
        way = way_in()
        command = way + command
        if not way:
            print("this system allows no network namespace: tests could reach other machines", file=sys.stderr)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
