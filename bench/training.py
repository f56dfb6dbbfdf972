"""Steps of training beside PyTorch, eager and compiled: the faster one counts."""

import json
import os
import statistics
import subprocess
import sys

import report

# network: (batch, least times as fast as PyTorch)
NETWORKS = {"lenet": (64, 1.3), "mlp": (128, 1.3), "cnn20": (64, 1.3), "resnet18": (32, 1.3),
            "transformer": (32, 1.3), "lstm": (32, 1.3), "resnet50": (8, 1.15)}
STEPS = 20
PEERS = {"eager": [], "compiled": ["--compile"]}
# PyTorch's loss of the first step is ours but for rounding. Those after it may drift: where a
# pre-activation is zero but for rounding, the gradient of a ReLU is another one.
FIRST, LATER, LATER_STEPS = 1e-5, 2e-2, 3


def run(command):
    """The line of JSON that the program prints, or None when it fails, which is told."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        print(f"bench: exit code {done.returncode} from {' '.join(command)}\n{done.stderr[-2000:]}", flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def difference(ours, theirs):
    """What is wrong with the losses of equal steps, "" if nothing."""
    for step, (a, b) in enumerate(zip(ours[:LATER_STEPS], theirs)):
        bound = FIRST * abs(theirs[0]) if step == 0 else LATER * max(abs(b), abs(theirs[0]))
        if not abs(a - b) <= bound:
            return f"step {step + 1} has the loss {a}, PyTorch's is {b}, expected at most {bound:.1e} between them"
    return ""


def measure(args, network, threads, peers):
    """Medians of a network's steps by runtime, after their losses were compared; None if a program failed."""
    batch, target = NETWORKS[network]
    folder = os.path.join(args.out, "training", network)
    os.makedirs(folder, exist_ok=True)
    ours = [os.path.join(os.path.abspath(args.bin), "bench_training"), network, "--batch", str(batch), "--threads",
            str(threads), "--steps", str(STEPS), "--cache", os.path.join(args.out, "cache")]
    theirs = [args.torch, os.path.join(os.path.dirname(os.path.abspath(__file__)), "training_peer.py"), network, folder,
              "--threads", str(threads), "--steps", str(STEPS)]
    commands = {"graphrun": ours, **{name: [*theirs, *PEERS[name]] for name in peers}}
    first = run([*ours, "--dump", folder])  # tunes, too
    if not first:
        return None
    turns = {name: [] for name in commands}
    for _ in range(args.turns):
        for name, command in commands.items():
            result = run(command)
            if not result:
                return None
            wrong = name in PEERS and difference(first["losses"], result["losses"])
            if wrong:
                print(f"bench: {network} by {name} PyTorch: {wrong}", flush=True)
                return None
            turns[name].append(result["step_ms"])
    row = {"network": network, "batch": batch, "threads": threads, "target": target, "bytes": first["bytes"],
           "predicted_bytes": first["predicted_bytes"],
           "step_ms": {name: statistics.median(times) for name, times in turns.items()}}
    if peers:
        row["ratio"] = min(row["step_ms"][name] for name in peers) / row["step_ms"]["graphrun"]
    return row


def available(args):
    """The peers that run on this machine; those that do not are told."""
    if subprocess.run([args.torch, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"training: SKIPPED the comparison: {args.torch} has no PyTorch; --torch names a Python that has it")
        return []
    return list(PEERS)


def benchTraining(args):
    unknown = [name for name in args.only or [] if name not in NETWORKS]
    if unknown and args.part == "training":
        sys.exit(f"bench: no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    peers = available(args)
    rows = []
    print(f"{'network':14}{'batch':>6}{'threads':>8}{'GraphRun':>13}{'eager':>13}{'compiled':>13}{'ratio':>8}")
    for network in NETWORKS:
        if args.only and network not in args.only:
            continue
        for threads in args.threads:
            row = measure(args, network, threads, peers)
            rows.append(row)
            if not row:
                continue
            times = "".join(f"{row['step_ms'][name]:>10.2f} ms" if name in row["step_ms"] else f"{'-':>13}"
                            for name in ("graphrun", *PEERS))
            ratio = row.get("ratio")
            print(f"{network:14}{row['batch']:>6}{threads:>8}{times}{f'{ratio:.2f}' if ratio else '-':>8}"
                  f"  {report.verdict(ratio >= row['target'] if ratio else None)}", flush=True)
    report.save(os.path.join(args.out, "training.json"), {"host": report.host(), "rows": [row for row in rows if row]})
    return all(rows) and (bool(peers) or args.part is None)
