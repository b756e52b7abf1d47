"""Stubs of the libraries that torch's CUDA build is linked against and that are not here. xla_stubs.py TORCH_LIB OUT

Every function of theirs answers "no device".
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

torch_lib, out = map(Path, sys.argv[1:])
out.mkdir(parents=True, exist_ok=True)


def readelf(option, file):
    return subprocess.run(
        ["readelf", "-W", option, file], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}
    ).stdout


libraries = sorted(torch_lib.glob("*.so*"))
needed = {name for file in libraries for name in re.findall(r"NEEDED.*\[(.+)\]", readelf("-d", file))}
known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
lacking = sorted(
    name
    for name in needed
    if not (torch_lib / name).exists() and f"\t{name} " not in known and not name.startswith("libpython")
)

wanted, defined = set(), set()  # of symbols, "name" or "name@version"
for file in libraries:
    for row in map(str.split, readelf("--dyn-syms", file).splitlines()):
        if len(row) < 8 or not row[0][:-1].isdigit():
            continue
        name, bind, section = row[7], row[4], row[6]
        if section != "UND":
            defined.add(name.partition("@")[0])
        elif bind == "GLOBAL":
            wanted.add(name)
owner = {}  # of a version: the library that must define it
for file in libraries:
    library = None
    for line in readelf("-V", file).splitlines():
        if found := re.search(r"File: (\S+)", line):
            library = found[1]
        elif library and (found := re.search(r"Name: (\S+) ", line)):
            owner[found[1]] = library

symbols = defaultdict(lambda: defaultdict(list))  # library, version: names. One without a version may be in any library
for symbol in sorted(wanted):
    name, _, version = symbol.partition("@")
    library = owner.get(version, "") if version else lacking[0]
    if library in lacking and name not in defined and not re.match("_?Py", name):
        symbols[library][version].append(name)

own = {
    "cudaGetLastError": "return 0;",
    "cudaPeekAtLastError": "return 0;",
    "cudaStreamIsCapturing": "*answer = 0; return 0;",
}
for library in lacking:
    code, versions = [], []
    for version, names in symbols[library].items():
        for name in names:
            answer = (
                'return (long) "no device";' if re.search("String$|Name$", name) else "return 100;"
            )  # 100 is cudaErrorNoDevice
            code.append(f"long {name}(void *stream, int *answer) {{ {own.get(name, answer)} }}")
        if version:
            versions.append(f"{version} {{ global: {' '.join(f'{name};' for name in names)} }};")
    (out / "stubs.c").write_text("\n".join(code))
    (out / "stubs.map").write_text("\n".join(versions))
    subprocess.run(
        [
            "cc",
            "-w",
            "-shared",
            "-fPIC",
            "-fno-builtin",
            f"-Wl,-soname,{library}",
            *([f"-Wl,--version-script={out / 'stubs.map'}"] if versions else []),
            "-o",
            out / library,
            out / "stubs.c",
        ],
        check=True,
    )
    print(f"{library}: {len(code)} functions")
