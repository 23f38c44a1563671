#!/usr/bin/env python3
"""Writes the collation tables uca900.bin, uca520.bin, uca400.bin, and ../src/collation/simple_data.rs.

    pip download pyuca==1.2 --no-deps && unzip pyuca-1.2-py2.py3-none-any.whl
    ./generate.py pyuca/ weights/

pyuca/ has Unicode's allkeys-9.0.0.txt and allkeys-5.2.0.txt (the Default Unicode Collation Element Table, UTS #10; Copyright Unicode, Inc.,
Unicode licence, see README.md). weights/ has NAME.txt with lines "code<TAB>hex" for the collations that no published file describes: the
answer of  SELECT code, HEX(WEIGHT_STRING(character COLLATE NAME))  for each character of the basic plane, as README.md shows.

Table format, little-endian: 8704 u16 page numbers (code point / 128); pages of 128 u32 entries; u32 collation elements.
Entry: 0 ignorable; 0xFFFFFFFF not in the table (implicit weight); bit 31 clear: one element; bit 31 set: length << 20 | index of the first.
Element: primary << 14 | secondary << 5 | tertiary. Contractions are left out, as MySQL does (WL#9125, F-6).
"""
import re
import struct
import sys

PAGE = 128
IMPLICIT = 0xFFFFFFFF


def ducet(path):
    table = {}
    for line in open(path):
        line = line.split("#")[0].split("%")[0]
        if ";" not in line or line.startswith("@"):
            continue
        codes, elements = line.split(";")
        codes = [int(c, 16) for c in codes.split()]
        if len(codes) != 1:
            continue
        out = []
        for element in re.findall(r"\[[.*]([0-9A-F.]+)\]", elements):
            p, s, t = [int(w, 16) for w in element.split(".")[:3]]
            if p or s or t:
                out.append((p, s, t))
        table[codes[0]] = out
    return table


def weight_strings(path):
    table = {}
    for line in open(path):
        code, weights = line.rstrip("\n").split("\t")
        table[int(code)] = [int(weights[i:i + 4], 16) for i in range(0, len(weights), 4)]
    return table


def pack(table, path):
    elements, seen = [], {}

    def entry(code):
        ces = table.get(code)
        if ces is None:
            return IMPLICIT
        packed = tuple(p << 14 | s << 5 | t for p, s, t in ces)
        assert all(s < 512 and t < 32 for _, s, t in ces), hex(code)
        if len(packed) == 0:
            return 0
        if len(packed) == 1:
            return packed[0]
        if packed not in seen:
            seen[packed] = len(elements)
            elements.extend(packed)
        return 1 << 31 | len(packed) << 20 | seen[packed]

    pages, numbers, index = [], {}, []
    for start in range(0, 0x110000, PAGE):
        page = tuple(entry(c) for c in range(start, start + PAGE))
        if page not in numbers:
            numbers[page] = len(pages)
            pages.append(page)
        index.append(numbers[page])
    assert len(elements) < 1 << 20
    with open(path, "wb") as out:
        out.write(struct.pack("<%dH" % len(index), *index))
        for page in pages:
            out.write(struct.pack("<%dI" % PAGE, *page))
        out.write(struct.pack("<%dI" % len(elements), *elements))
    print(path, len(index), len(pages), len(elements))


def rust_array(out, doc, name, ty, values, digits):
    out.write("\n/// %s\npub(super) static %s: [%s; %d] = [\n" % (doc, name, ty, len(values)))
    for i in range(0, len(values), 16):
        out.write("    " + ", ".join("0x%0*X" % (digits, v) for v in values[i:i + 16]) + ",\n")
    out.write("];\n")


def main():
    pyuca, weights = sys.argv[1], sys.argv[2]
    pack(ducet(pyuca + "/allkeys-9.0.0.txt"), "uca900.bin")
    # Older collations use primary weights only.
    # Eight elements a character are kept, as MySQL's tables of 5.2.0 do.
    old = {c: [(p, 0, 0) for p, _, _ in ces if p][:8] for c, ces in ducet(pyuca + "/allkeys-5.2.0.txt").items()}
    pack(old, "uca520.bin")
    v400 = {}
    for code, ws in weight_strings(weights + "/utf8mb4_unicode_ci.txt").items():
        base = 0xFB80 if 0x3400 <= code <= 0x4DB5 else 0xFB40 if 0x4E00 <= code <= 0x9FA5 else 0xFBC0
        if ws != [base + (code >> 15), code & 0x7FFF | 0x8000]:
            v400[code] = [(w, 0, 0) for w in ws]
    v400[0] = []
    pack(v400, "uca400.bin")

    general = {c: ws[0] for c, ws in weight_strings(weights + "/utf8mb4_general_ci.txt").items() if ws and ws[0] != c}
    pages = sorted({c >> 8 for c in general})
    with open("../src/collation/simple_data.rs", "w") as out:
        out.write("//! Weights of the collations with one weight a character. Written by data/generate.py.\n\n")
        out.write("#![cfg_attr(rustfmt, rustfmt_skip)]\n")
        numbers = [pages.index(p) + 1 if p in pages else 0 for p in range(256)]
        rust_array(out, "Page of `GENERAL` for each high byte, plus one; 0 where characters weigh what they are.", "GENERAL_PAGES", "u8", numbers, 2)
        flat = [general.get(p << 8 | c, p << 8 | c) for p in pages for c in range(256)]
        rust_array(out, "`utf8mb4_general_ci`.", "GENERAL", "u16", flat, 4)
        for name in ["latin1_swedish_ci", "latin1_general_ci", "latin1_general_cs"]:
            table = {}
            for line in open("%s/%s.txt" % (weights, name)):
                code, w = line.rstrip("\n").split("\t")
                table[int(code)] = int(w, 16)
            rust_array(out, "`%s`." % name, name.upper(), "u8", [table[i] for i in range(256)], 2)


main()
