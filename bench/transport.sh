#!/bin/sh
# Edges between two processes beside ucx_perftest with the same UCX settings, alternating.
# Usage: bench/transport.sh [BUILD_DIR] [ROUNDS]
# Wanted: 8-byte latency over shared memory at most 3 us above; 64 MiB at least 0.8 of the bandwidth.
set -eu
build=${1:-build}
rounds=${2:-5}
port=$((20000 + $$ % 20000))
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export UCX_TCP_TX_SEG_SIZE=64k UCX_TCP_RX_SEG_SIZE=128k UCX_WARN_UNUSED_ENV_VARS=n

# perftest TLS TEST BYTES ITERS COLUMN: one figure of ucx_perftest's last line
perftest() {
  port=$((port + 1))
  UCX_TLS=$1,self timeout 120 ucx_perftest -p "$port" >/dev/null 2>&1 &
  server=$!
  sleep 0.5
  UCX_TLS=$1,self timeout 120 ucx_perftest 127.0.0.1 -p "$port" -t "$2" -s "$3" -n "$4" \
    -w 100 2>/dev/null | awk -v c="$5" '/^Final:/ {print $c}'
  wait "$server" || true
}

# ours TLS TEST BYTES ITERS KEY: one figure of bench_transport's line
ours() {
  UCX_TLS=$1 timeout 120 "$build/bin/bench_transport" --tls "$1,self" --test "$2" --bytes "$3" \
    --iters "$4" --slots 4 | sed -n "s/.*\"$5\":\([0-9.]*\).*/\1/p"
}

i=0
while [ "$i" -lt "$rounds" ]; do
  i=$((i + 1))
  perftest shm ucp_am_lat 8 100000 3 >>"$out/lat.ucx"
  ours shm latency 8 100000 p50_us >>"$out/lat.ours"
  perftest tcp ucp_am_lat 8 20000 3 >>"$out/tcplat.ucx"
  ours tcp latency 8 20000 p50_us >>"$out/tcplat.ours"
  for tls in shm tcp; do
    perftest $tls ucp_am_bw 67108864 20 7 >>"$out/$tls.ucx"
    ours $tls bandwidth 67108864 20 MBps >>"$out/$tls.ours"
  done
done

median() { sort -g "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
compare() { # NAME FILE UNIT KIND
  awk -v a="$(median "$out/$2.ours")" -v b="$(median "$out/$2.ucx")" -v n="$1" -v u="$3" -v k="$4" \
    'BEGIN {printf "%-28s ours %10.3f %s   ucx_perftest %10.3f %s   ", n, a, u, b, u;
            if (k == "above") printf "above %.3f %s\n", a - b, u; else printf "ratio %.3f\n", a / b}'
}
compare "8 B one way, shm" lat us above
compare "8 B one way, tcp loopback" tcplat us above
compare "64 MiB, shm" shm MB/s ratio
compare "64 MiB, tcp loopback" tcp MB/s ratio
