#!/usr/bin/env python3
"""Writes ../src/collation/czech_data.rs: the weights of bytes in latin2_czech_cs and cp1250_czech_cs.

    ./czech.py mariadb -uroot -h127.0.0.1

asks a server for the weights of texts of one byte. In latin2_czech_cs they end with 1, the last with 0, and a text that is
a space or a tab, which weigh 2, has none.
"""
import subprocess
import sys


def weights(charset, collation):
    texts = ["SELECT HEX(WEIGHT_STRING(_%s x'%02X' COLLATE %s));" % (charset, byte, collation) for byte in range(256)]
    out = subprocess.run(sys.argv[1:] + ["-N", "-B"], input="\n".join(texts), capture_output=True, text=True, check=True)
    return [bytes.fromhex(line) for line in out.stdout.split()]


def levels(byte, found):
    if byte in (0x09, 0x20):
        return [2] * 4
    return [level[0] if level else 0 for level in found[:-1].split(b"\1")]


def write(out, name, doc, rows):
    out.write("\n/// %s\npub(super) static %s: [[u8; 256]; %d] = [\n" % (doc, name, len(rows[0])))
    for level in zip(*rows):
        out.write("    [\n")
        items = ["0x%02X," % weight for weight in level]
        for at in range(0, 256, 18):
            out.write("        " + " ".join(items[at : at + 18]) + "\n")
        out.write("    ],\n")
    out.write("];\n")


latin2 = [levels(byte, found) for byte, found in enumerate(weights("latin2", "latin2_czech_cs"))]
cp1250 = [list(found) for found in weights("cp1250", "cp1250_czech_cs")]
with open("../src/collation/czech_data.rs", "w") as out:
    out.write("//! Weights of bytes in Czech collations, level by level. Written by data/czech.py.\n")
    write(out, "LATIN2", "`latin2_czech_cs`; 0 counts for nothing, 2 is between words.", latin2)
    write(out, "CP1250", "`cp1250_czech_cs`.", cp1250)
