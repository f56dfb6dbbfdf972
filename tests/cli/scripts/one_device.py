"""one_device.py GRAPHRUN MODEL FOLDER: `auto` takes two workers where they promise 3 % less than one, else one. The link
between them is made slower until they promise 1 to 2.5 % less, and faster until they promise 6 % less."""

import json
import pathlib
import subprocess
import sys

WORTHWHILE = 0.97
graphrun, model, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(exist_ok=True)


def explained(latency, placement):
    """What `graphrun explain` says of two workers of one core, with so many ns between them."""
    cluster = folder / "two.yaml"
    workers = [{"name": name, "address": f"10.0.0.{i}:7070", "devices": [{"cpu": {"cores": "0"}}]}
               for i, name in enumerate("ab", 1)]
    links = [{"between": pair, "bandwidth": "100GB/s", "latency": f"{latency / 1000}us"}
             for pair in (["a", "b"], ["client", "a"], ["client", "b"])]
    cluster.write_text(json.dumps({"workers": workers, "links": links}))
    return json.loads(subprocess.run(
        [graphrun, "explain", model, "--cluster", str(cluster), "--input", "data_0=random", "--placement", placement,
         "--json"], check=True, capture_output=True, text=True).stdout)


def promised(latency):
    """What the search takes on two devices, as a part of what one takes, and how many devices `auto` uses."""
    searched, chosen = explained(latency, "search"), explained(latency, "auto")
    single = next(each["step_ns"] for each in searched["strategies"] if each["strategy"] == "single")
    return searched["latency_ns"] / single, sum(1 for device in chosen["devices"] if device["ops"])


def latencyWhere(low, high):
    """The latency with which two devices promise between `low` and `high` of one's step: it grows with it."""
    shortest, longest = 1, 10_000_000
    for _ in range(40):
        latency = (shortest + longest) // 2
        ratio, used = promised(latency)
        if low <= ratio <= high:
            return latency, ratio, used
        shortest, longest = (latency, longest) if ratio < low else (shortest, latency)
    sys.exit(f"no latency with which two devices promise {low} to {high} of one's step")


for low, high, devices in ((0.975, 0.99, 1), (0.85, 0.94, 2)):
    latency, ratio, used = latencyWhere(low, high)
    print(f"{latency} ns: two devices promise {ratio:.3f}, auto takes {used}")
    if used != devices:
        sys.exit(f"expected {devices} of them, as {WORTHWHILE} is what two must promise")
