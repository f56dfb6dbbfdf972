#!/usr/bin/env bash
# What the default run leaves out, by hand or by cron; --help lists the parts. Outputs lie in build/log/nightly-*.log.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
logs=build/log
bad=0
parts=(slow avx2 sse2 asan-gcc fuzz differential)

usage() {
  cat <<'EOF'
usage: tests/nightly.sh [--seconds S] [PART…]
Runs the parts named, all by default, one after the other. Needs ./dev build first. One closing line a part;
ends with 1 if one of them fails, with 2 where it is called wrongly.
  slow          tests with the label slow
  avx2, sse2    the CPU's tests under narrower instructions
  asan-gcc      the CPU's kernels of GCC's build under ASan and UBSan
  fuzz          each fuzz target for S seconds (600)
  differential  random models beside ONNX Runtime for S seconds (3600), with a seed of its own
EOF
}

wrong() {
  echo "nightly.sh: $*" >&2
  usage >&2
  exit 2
}

# run NAME COMMAND…: its last line, how long it took and how it ended.
run() {
  local name=$1 log=$logs/nightly-$1.log start=$SECONDS status=ok
  shift
  "$@" >"$log" 2>&1 </dev/null || { status="FAILED, see $log" bad=1; }
  echo "$name: $status ($((SECONDS - start)) s): $(grep -v '^ *$' "$log" | grep -E 'tests passed|inputs|Done|cases in' | tail -n 1)"
}

# Which fuzz targets there are is read where they are declared.
targets() { sed -n 's/^ *graphrun_fuzz(\([a-z_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt; }

# fuzz_one TARGET: from the corpus on, with new inputs beside it.
fuzz_one() {
  local fresh=build-asan/tests/fuzz/fresh/$1
  build-asan/bin/"$1"_fuzz -max_total_time="${seconds:-600}" -rss_limit_mb=4096 -timeout=20 \
    -artifact_prefix="$fresh"/ "$fresh" tests/fuzz/corpus/"$1"
}

build_fuzz() {
  local names
  mapfile -t names < <(targets)
  cmake --preset asan && cmake --build --preset asan --target "${names[@]/%/_fuzz}"
}

asan_gcc() {
  cmake --preset asan-gcc && cmake --build --preset asan-gcc --target asan_tests &&
    ctest --preset asan-gcc --no-tests=error --parallel "$(nproc)"
}

differential() {
  local python=.venv/bin/python seed
  [ -x $python ] || python=python3
  seed=$(date +%s)  # that of the day is the default run's
  $python -B tests/differential/fuzz.py --server build/bin/session_server --seconds "${seconds:-3600}" \
    --seed "$seed" --keep-going --out build/tests/differential/found
}

gradients() {
  local python=.venv/bin/python
  [ -x $python ] || python=python3
  $python -B tests/differential/gradients.py --server build/bin/session_server --count 500 --seed "$(date +%s)" \
    --out build/tests/differential/found
}

part() {
  local target
  case $1 in
    slow) run slow ctest --test-dir build --no-tests=error -L slow -LE "^(avx2|sse2)$" --output-on-failure ;;
    avx2 | sse2) run "$1" ctest --test-dir build --no-tests=error -L "^$1$" --output-on-failure ;;
    asan-gcc) run asan-gcc asan_gcc ;;
    fuzz)
      run fuzz-build build_fuzz
      for target in $(targets); do
        run "fuzz-$target" fuzz_one "$target"
      done
      ;;
    differential)
      run differential differential
      run gradients gradients
      ;;
  esac
}

seconds=
chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --seconds)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || wrong "--seconds takes a whole number above 0, got '${2:-}'"
      seconds=$2
      shift
      ;;
    *)
      [[ " ${parts[*]} " == *" $1 "* ]] || wrong "no part '$1'"
      chosen+=("$1")
      ;;
  esac
  shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${parts[@]}")
mkdir -p "$logs"
for name in "${chosen[@]}"; do
  part "$name"
done
exit $bad
