"""predicted_peak.py EXPLAINED.json BENCH.json …: each bench predicts what explain says of the devices, whatever ran
and whichever kernels were measured to be faster; the process peaks at something else, and its devices hold something
else: weights as their kernels lay them out. Neither is what is predicted, but both are of its size."""

import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


planned = sum(device["peak_bytes"] for device in read(sys.argv[1])["devices"])
for path in sys.argv[2:]:
    report = read(path)
    held = sum(device["bytes"] for device in report["session"]["devices"])
    print(f"planned {planned}, predicted {report['predicted_peak_bytes']}, held {held}, "
          f"process {report['peak_memory_bytes']}")
    assert planned > 0 and report["predicted_peak_bytes"] == planned
    assert report["peak_memory_bytes"] > planned
    assert held != planned and 0.5 < planned / held < 2
