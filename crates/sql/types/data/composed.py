#!/usr/bin/env python3
"""Writes ../src/collation/composed_data.rs from Python's Unicode data: the letters with marks that follow another letter, if a language
places that one elsewhere (Unicode's canonical decompositions; a mark that is not next to its letter counts, if nothing blocks it)."""
import unicodedata

# Letters that languages place.
PLACED = set("zZyYjJvVIäÄöÖüÜáÁéÉíÍóÓúÚýÝåÅčČģĢķĶļĻņŅŗŖšŠžŽăĂâÂîÎşŞșȘţŢțȚćĆąĄęĘńŃśŚźŹżŻõÕñÑűŰőŐôÔçÇğĞİřŘėĖįĮųŲūŪĉĈĝĜĥĤĵĴŝŜŭŬêÊơƠưƯøØæÆ")


def nfd(text):
    return unicodedata.normalize("NFD", text)


def left(whole, part):
    """The marks of `whole` that `part` has not; None: it does not begin with it."""
    if part[0] != whole[0] or len(part) >= len(whole):
        return None
    at, rest = 1, []
    for mark in whole[1:]:
        if at < len(part) and mark == part[at] and all(unicodedata.combining(r) < unicodedata.combining(mark) for r in rest):
            at += 1
        else:
            rest.append(mark)
    return "".join(rest) if at == len(part) else None


found = []
for code in [*range(0xC0, 0x250), *range(0x1E00, 0x1F00)]:
    for letter in sorted(PLACED):
        marks = left(nfd(chr(code)), nfd(letter))
        if marks is not None:
            found.append((len(nfd(letter)), chr(code), letter, marks))
with open("../src/collation/composed_data.rs", "w") as out:
    out.write("//! Letters with marks, by a letter that languages place. Written by data/composed.py.\n\n")
    out.write("/// The letter, the one in it, the marks that are left. The more marks that one has, the later.\n")
    out.write("#[rustfmt::skip]\npub(super) static COMPOSED: &[(char, char, &str)] = &[\n")
    line = "   "
    for _, c, letter, marks in sorted(found):
        item = " ('%s', '%s', \"%s\")," % (c, letter, "".join("\\u{%X}" % ord(m) for m in marks))
        if len(line) + len(item) > 110:
            out.write(line + "\n")
            line = "   "
        line += item
    out.write(line + "\n];\n")
