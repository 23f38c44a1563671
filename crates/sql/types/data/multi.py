#!/usr/bin/env python3
"""Writes multi.bin: the character sets of several bytes that are not Unicode, and the order of gbk_chinese_ci.

    ./multi.py mariadb -uroot -h127.0.0.1

asks a server (a MariaDB of 10.11, whose maps are MySQL's) by the command given: each code as UTF-32, and each character
of the basic plane as code. gb18030, which it does not have, is GB 18030-2005 as Python's codec has it.

multi.bin: the sets in the order of SETS, each a u32 length and a stream of varints. A stream gives the characters of the
codes of the set's grid in their order: 0 n: n codes without a character; 1 n: n characters as the base set has them;
d + 2: the next character is the last one plus the zigzag number d. Then pairs (character, code), each a varint, of the
characters whose code is not the first (cp932: the last) that means them, until the length is used up. Behind the sets,
the weights of gbk's codes of two bytes, u16 in the order of the grid.
"""
import struct
import subprocess
import sys

SETS = ["gbk", "gb2312", "gb18030", "big5", "cp932", "sjis", "eucjpms", "eucjpms3", "ujis", "ujis3", "euckr"]
BASE = {"gb2312": "gbk", "gb18030": "gbk", "sjis": "cp932", "eucjpms": "cp932", "ujis": "cp932", "ujis3": "eucjpms3"}
HIGH = list(range(0xA1, 0xFF))
CHINESE = list(range(0x40, 0x7F)) + list(range(0x80, 0xFF))
GRIDS = {
    "gbk": (range(0x81, 0xFF), CHINESE),
    "big5": (range(0xA1, 0xFA), list(range(0x40, 0x7F)) + HIGH),
    "cp932": (list(range(0x81, 0xA0)) + list(range(0xE0, 0xFD)), list(range(0x40, 0x7F)) + list(range(0x80, 0xFD))),
    "euckr": (range(0x81, 0xFF), list(range(0x41, 0x5B)) + list(range(0x61, 0x7B)) + list(range(0x81, 0xFF))),
}
GRIDS["gb18030"] = GRIDS["gbk"]
GRIDS["sjis"] = GRIDS["cp932"]


def codes(name):
    leads, trails = GRIDS.get(name, (HIGH, HIGH))
    return [lead << 8 | trail for lead in leads for trail in trails]


def rows(query):
    out = subprocess.run(sys.argv[1:] + ["-N", "-B", "-e", "SET sql_mode = ''; " + query], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in out.stdout.splitlines()]


def measured(name):
    """Characters by code, codes by character."""
    charset, lead = name.removesuffix("3"), "8F" if name.endswith("3") else ""
    text = "CONVERT(UNHEX(CONCAT('%s', LPAD(HEX(seq), 4, '0'))) USING %s)" % (lead, charset)
    found = rows("SELECT seq, HEX(CONVERT(%s USING utf32)) FROM mysql.seq_32768_to_65535 WHERE CHAR_LENGTH(%s) = 1" % (text, text))
    chars = {int(code): int(c, 16) for code, c in found if c != "0000003F"}
    text = "CONVERT(CONVERT(UNHEX(LPAD(HEX(seq), 8, '0')) USING utf32) USING %s)" % charset
    found = rows("SELECT seq, HEX(%s) FROM mysql.seq_0_to_65535 WHERE seq NOT BETWEEN 55296 AND 57343" % text)
    digits = 6 if lead else 4
    backs = {int(c): int(code[-4:], 16) for c, code in found if len(code) == digits}
    return chars, backs


def gb18030():
    chars = {}
    for code in codes("gb18030"):
        chars[code] = ord(code.to_bytes(2, "big").decode("gb18030"))
    chars[0xA8BC] = 0x1E3F
    return chars, {c: code for code, c in chars.items()}


def base_of(name, known):
    """What the base set has at the codes of this one."""
    if name not in BASE:
        return {}
    base = known[BASE[name]]
    if name not in ("eucjpms", "ujis"):
        return base
    moved = {}
    for code, c in base.items():
        lead, trail = code >> 8, code & 0xFF
        row = (lead - (0x81 if lead < 0xE0 else 0xC1)) * 2 + (trail >= 0x9F)
        cell = trail - 0x9F if trail >= 0x9F else trail - 0x40 - (trail > 0x7F)
        if row < 94:
            moved[(row + 0xA1) << 8 | cell + 0xA1] = c
    return moved


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def stream(name, chars, backs, base):
    out, last, i, order = b"", 0, 0, codes(name)
    while i < len(order):
        run = 0
        while i + run < len(order) and order[i + run] not in chars:
            run += 1
        if run:
            out += varint(0) + varint(run)
            i += run
            continue
        while i + run < len(order) and order[i + run] in chars and base.get(order[i + run]) == chars[order[i + run]]:
            run += 1
        if run > 1:
            out += varint(1) + varint(run)
            i += run
            last = chars[order[i - 1]]
            continue
        delta = chars[order[i]] - last
        out += varint((delta << 1 if delta >= 0 else (-delta << 1) - 1) + 2)
        last = chars[order[i]]
        i += 1
    first = {}
    for code in reversed(order) if name != "cp932" else order:
        if code in chars:
            first[chars[code]] = code
    for c in sorted(set(first) | set(backs)):
        if first.get(c) != backs.get(c):
            out += varint(c) + varint(backs.get(c, 0))
    return out


def main():
    known, out = {}, b""
    for name in SETS:
        chars, backs = gb18030() if name == "gb18030" else measured(name)
        base = base_of(name, known)
        packed = stream(name, chars, backs, base)
        known[name] = chars
        print(name, len(chars), len(packed))
        out += struct.pack("<I", len(packed)) + packed
    weight = "HEX(WEIGHT_STRING(CONVERT(UNHEX(HEX(seq)) USING gbk) COLLATE gbk_chinese_ci))"
    weights = dict(rows("SELECT seq, %s FROM mysql.seq_32768_to_65535" % weight))
    out += b"".join(struct.pack("<H", int(weights[str(code)], 16)) for code in codes("gbk"))
    with open("multi.bin", "wb") as file:
        file.write(out)


main()
