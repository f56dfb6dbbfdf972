"""What the fuzzer meets and passes over: faults of peers, and findings that are still open."""

import glob
import os
import re

from text_case import header

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "findings")

# Faults of the peers: (kind, operations that must all be in the model, pattern of the message, why).
_ORDER = "whether its maximum keeps a NaN depends on where that stands; GraphRun's keep it"
_SAME = "its pads for SAME leave dilations out, and results become empty; ONNX says ceil(input / stride)"
PEERS = [
    ("differs", ("AveragePool",), r"shape \(.*\), expected \(.*\b0\b", _SAME),
    ("differs", ("MaxPool",), r"shape \(.*\), expected \(.*\b0\b", _SAME),
    ("differs", ("GlobalMaxPool",), r"NaN or Inf: .* got nan, expected [^n]", _ORDER),
    ("differs", ("MaxPool",), r"NaN or Inf: .* got nan, expected [^n]", _ORDER),
    ("differs", ("Loop",), r"shape \(0, .*\), expected \(0,",
     "ONNX Runtime has 0 for dims of a collected value that only an iteration would tell"),
]


def _entry(line, why):
    """(kind, operations, pattern, why) of "refused Conv,Relu has an unknown attribute"; * for none."""
    kind, operations, pattern = line.split(" ", 2)
    return kind, () if operations == "*" else tuple(operations.split(",")), pattern, why


def openFindings(folder=FOLDER):
    """Entries of the lines `# like:` of findings that are open."""
    entries = []
    for path in sorted(glob.glob(os.path.join(folder, "*.txt"))):
        with open(path, encoding="utf-8") as file:
            found, _, _ = header(file.read())
        for line in found.get("like", []):
            if "open" not in found:
                raise ValueError(f"{path}: '# like' without '# open': what is mended hides nothing")
            entries.append(_entry(line, f"{os.path.basename(path)}: {found['open'][0]}"))
    return entries


def reason(finding, entries):
    """Why a finding is passed over; "" if it is not."""
    kinds = finding.kinds()
    for kind, operations, pattern, why in entries:
        if kind == finding.kind and set(operations) <= kinds and re.search(pattern, finding.message):
            return why
    return ""
