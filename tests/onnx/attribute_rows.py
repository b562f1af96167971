"""Compares the attributes in src/onnx/ops/*.def with the schemas of the onnx package that is installed: names and types
must be the same for each version of each operator. Operators without a schema (com.microsoft) are left out."""
import glob
import re
import sys

from onnx import defs

LATEST = 1 << 30
schemas = {}
for schema in defs.get_all_schemas_with_history():
    schemas.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema

rows, op = {}, None
for path in sorted(glob.glob("src/onnx/ops/*.def")):
    with open(path) as file:
        text = file.read()
    for match in re.finditer(r'ONNX_(OP|ATTR|NEEDS|ONLY)\(([^)]*)\)', text):
        fields = [field.strip().strip('"') for field in match[2].split(",")]
        if match[1] == "OP":
            op = (fields[0], fields[1], int(fields[2]))
            rows[op] = []
            continue
        kind, first, last = ("INT", *fields[1:3]) if match[1] == "ONLY" else fields[1:4]
        rows[op].append((fields[0], kind, int(first), LATEST if last == "LATEST" else int(last)))

faults, compared = [], 0
for (domain, name, since), attributes in rows.items():
    versions = schemas.get((domain, name), {})
    later = min((s for d, n, s in rows if (d, n) == (domain, name) and s > since), default=LATEST)
    for version in sorted(versions):
        if version < since or version >= later:
            continue
        want = {a: str(v.type).split(".")[-1] for a, v in versions[version].attributes.items()}
        have = {a: kind for a, kind, first, last in attributes if first <= version <= last}
        compared += 1
        for a in sorted(set(want) | set(have)):
            if want.get(a) != have.get(a):
                faults.append(f"{name}-{version}: '{a}' is {want.get(a)} in ONNX and {have.get(a)} in the table")
print(f"{compared} versions of operators compared, {len(faults)} attributes differ")
sys.exit("\n".join(faults) if faults or not compared else 0)
