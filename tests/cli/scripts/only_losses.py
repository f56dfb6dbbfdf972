#!/usr/bin/env python3
"""Prints what `graphrun train` tells of losses and metrics, without times: standard input to output."""

import json
import sys

for line in sys.stdin:
    told = json.loads(line)
    print({key: value for key, value in told.items() if key not in ("step_ms", "samples_per_s")})
