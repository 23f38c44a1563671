"""What seeing.sh measures: load.py SOCKET PID prints each step's name and the server's resident memory in KiB."""

import os
import socket
import sys
import time

SESSIONS, DIGESTS = int(os.environ.get("SEEING_SESSIONS", 10_000)), int(os.environ.get("SEEING_DIGESTS", 100_000))
CAPABILITIES = 0x1 | 0x200 | 0x8000 | 0x80000  # long password, 4.1, secure connection, plugins


class Client:
    """A session, as root, that reads no more of an answer than it has to."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.packet()
        self.send(1, CAPABILITIES.to_bytes(4, "little") + (1 << 24).to_bytes(4, "little") + b"\x2d" + bytes(23)
                  + b"root\0\0caching_sha2_password\0")
        assert self.packet()[0] == 0

    def send(self, number, body):
        self.socket.sendall(len(body).to_bytes(3, "little") + bytes([number]) + body)

    def packet(self):
        head = self.file.read(4)
        return self.file.read(int.from_bytes(head[:3], "little"))

    def do(self, text):
        """A statement; its rows are read and forgotten."""
        self.send(0, b"\x03" + text.encode())
        first = self.packet()
        assert first[0] != 0xFF, first
        ends = 0
        while first[0] != 0 and ends < 2:
            packet = self.packet()
            assert packet[0] != 0xFF, packet
            ends += packet[0] == 0xFE and len(packet) < 9


def tell(step):
    time.sleep(3)
    for line in open(f"/proc/{sys.argv[2]}/status"):
        if line.startswith("VmRSS"):
            print(step, line.split()[1], flush=True)


one, two = Client(sys.argv[1]), Client(sys.argv[1])
one.do("CREATE DATABASE seeing")
one.do("CREATE TABLE seeing.t (a INT PRIMARY KEY, b INT)")
tell("start")
for i in range(DIGESTS):
    for client in (one, two):
        client.do(f"SELECT a AS alias_number_{i}, b FROM seeing.t WHERE a = 1 AND b = 2 ORDER BY b LIMIT 10")
tell("digests")
sessions = []
for i in range(SESSIONS):
    session = Client(sys.argv[1])
    for j in range(3):
        for text in ("SELECT 1", "SET @a = 1", "SELECT a FROM seeing.t WHERE a = 1", "COMMIT"):
            session.do(text)
    sessions.append(session)
tell("sessions")
time.sleep(60)
tell("minute")
