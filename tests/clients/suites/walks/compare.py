#!/usr/bin/env python3
"""compare.py HERE THERE: what the same walk told at two servers, each a directory with walk.jsonl. Writes HERE/names, a line for each
thing that fails here and not there: another status, a page that tells of an error, more statements with an error than there. HERE/differences has all that was told otherwise: rows of one rank or time in another order, versions, engines. Prints how many
things were asked, and how many were told alike, in whatever order of their lines."""
import json, re, sys

here, there = sys.argv[1:3]
ERROR = re.compile(r'DBQueryError|internal_api_error|Fatal error|Uncaught |"success": false|no such form|MySQL said')
# What differs from run to run, beside what the walks leave out themselves.
NOISE = re.compile(r'\bt=\d+|\bid=\d+|"(filekey|sessionkey|pageimage)".*|\b1[a-z0-9]{11}\.\S+|\bphp[A-Za-z0-9]{6}\b|\(id [0-9]+\)|\d+ microseconds')

def load(directory):
    met, told = {}, {}
    for line in open(f'{directory}/walk.jsonl'):
        one = json.loads(line)
        # Each side has a server and a directory of its own.
        one['name'] = re.sub(r'127\.0\.0\.1:\d+', 'SERVER', one['name'].replace(directory, 'DIRECTORY'))
        met[one['name']] = n = met.get(one['name'], 0) + 1
        told[one['name'] + (f' ({n})' if n > 1 else '')] = one
    return told
# Lists of what a server has: collations, engines, types.
LISTS = re.compile(r'([a-z0-9]+_[a-z0-9_]+|binary|ascii|Aria|CSV|MEMORY|MRG_MyISAM|MyISAM|SEQUENCE|INET6|UUID|COMPRESSED=\w+|ibgb\w*)$')
def lines(one): return sorted(line for line in NOISE.sub('', one['text']).splitlines() if not LISTS.match(line))
def refused(one): return len(one.get('failed', []))
def logged(directory):
    """Errors of statements that MediaWiki has logged: number and function."""
    try: return set(re.findall(r'Error \d+ from \S+?(?=,)', open(f'{directory}/db-errors.log', errors='replace').read()))
    except FileNotFoundError: return set()

a, b = load(here), load(there)
names, alike = [], 0
with open(f'{here}/differences', 'w') as out:
    for name, one in a.items():
        other = b.get(name)
        if other is None: names.append(f'{name}: not asked there'); continue
        fails = one['status'] != other['status'] or ERROR.search(one['text']) and not ERROR.search(other['text']) or refused(one) > refused(other)
        if fails: names.append(name)
        if lines(one) == lines(other) and not fails: alike += 1; continue
        x, y = lines(one), lines(other)
        out.write(f"## {name}: {one['status']} {other['status']} {one.get('failed', '')} {other.get('failed', '')}\n")
        for sign, some, rest in (('+', x, y), ('-', y, x)):
            for line in [l for l in some if l not in rest][:20]: out.write(f'{sign} {line[:300]}\n')
    names += [f'{name}: not asked here' for name in b if name not in a]
    names += [f'statement: {error}' for error in sorted(logged(here) - logged(there))]
with open(f'{here}/names', 'w') as out: out.writelines(re.sub(r'[\t\n]', ' ', name) + '\n' for name in names)
print(len(a), alike)
