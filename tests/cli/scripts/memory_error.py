"""Prints the mean error of a run's predicted memory in percent: memory_error.py RUN.json, as --json writes it."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    devices = json.load(file)["devices"]
errors = [abs(device["predicted_bytes"] / device["bytes"] - 1) * 100
          for device in devices if device["bytes"] > 1 << 20]
print(f"{sum(errors) / len(errors):.1f} % of {len(errors)} devices")
