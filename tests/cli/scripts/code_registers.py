"""code_registers.py FOLDER: the kinds of vector registers and of encodings in kept code, a line each."""

import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = 64  # bytes of the cache, before what it keeps
found = set()
for entry in pathlib.Path(sys.argv[1]).iterdir():
    with tempfile.NamedTemporaryFile() as file:
        file.write(entry.read_bytes()[HEADER:])
        file.flush()
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", file.name], capture_output=True,
                              text=True, check=True).stdout
    found |= set(re.findall(r"%([xyz]mm)\d", text))
    found |= {"vex"} if re.search(r"^\s*[0-9a-f]+:\s+v[a-z]", text, re.M) else set()
print("\n".join(sorted(found)))
