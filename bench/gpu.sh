#!/bin/sh
# GraphRun on a machine that has NVIDIA's driver, CUDA's libraries and PyTorch, and nothing else of ours.
set -eu

usage() {
  cat >&2 <<'U'
usage: bench/gpu.sh pack BUILD PACKAGE.tar.xz [OPTION…]   makes the package (gpu/package.py)
       bench/gpu.sh run PACKAGE.tar.xz RESULTS [OPTION…]  runs it, with sh, tar, xz and python3 (gpu/run.py)
U
  exit 2
}

[ $# -ge 3 ] || usage
command=$1
case $command in
  pack)
    shift
    here=$(cd "$(dirname "$0")" && pwd)
    exec "${GRAPHRUN_PYTHON:-$here/../.venv/bin/python}" -B "$here/gpu/package.py" "$@"
    ;;
  run)
    package=$2 results=$3
    shift 3
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 143' INT TERM
    if command -v xz >/dev/null; then
      xz -dc "$package" | tar -xf - -C "$folder"
    else
      python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$package" "$folder"
    fi
    python3 -B "$folder/bench/run.py" "$results" "$@"
    ;;
  *) usage ;;
esac
