#!/usr/bin/env bash
# nightly.sh [SECONDS]: what the default run leaves out, by hand or by cron: slow tests, all tests of the CPU
# under narrower instructions, the CPU's kernels of GCC's build under ASan and UBSan, and SECONDS (600) of
# fuzzing a target. Needs ./dev build first. One closing line a part; ends with 1 if one of them fails.
# Outputs lie in build/log/nightly-*.log.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-600}
logs=build/log
bad=0
mkdir -p "$logs"

# part NAME COMMAND…: its last line, how long it took and how it ended.
part() {
  local name=$1 log=$logs/nightly-$1.log start=$SECONDS status=ok
  shift
  "$@" >"$log" 2>&1 </dev/null || { status="FAILED, see $log" bad=1; }
  echo "$name: $status ($((SECONDS - start)) s): $(grep -v '^ *$' "$log" | grep -E 'tests passed|inputs|Done' | tail -n 1)"
}

# Which fuzz targets there are is read where they are declared.
targets() { sed -n 's/^ *graphrun_fuzz(\([a-z_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt; }

# fuzz TARGET: from the corpus on, with new inputs beside it.
fuzz() {
  local fresh=build-asan/tests/fuzz/fresh/$1
  build-asan/bin/"$1"_fuzz -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 \
    -artifact_prefix="$fresh"/ "$fresh" tests/fuzz/corpus/"$1"
}

asan_gcc() {
  cmake --preset asan-gcc && cmake --build --preset asan-gcc --target asan_tests &&
    ctest --preset asan-gcc --no-tests=error --parallel "$(nproc)"
}

build_fuzz() {
  local names
  mapfile -t names < <(targets)
  cmake --preset asan && cmake --build --preset asan --target "${names[@]/%/_fuzz}"
}

part slow ctest --test-dir build --no-tests=error -L slow -LE "^(avx2|sse2)$" --output-on-failure
for isa in avx2 sse2; do
  part "$isa" ctest --test-dir build --no-tests=error -L "^$isa$" --output-on-failure
done
part asan-gcc asan_gcc
part fuzz-build build_fuzz
for target in $(targets); do
  part "fuzz-$target" fuzz "$target"
done
exit $bad
