#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ci.sh JOB...: runs a job as CI does, each in a build tree of its own.
#
#   gcc clang   every suite, all warnings errors
#   asan tsan   every suite but lint and analyze, under the sanitizers (gcc, or $CC)
#   release     optimised and hardened, assertions off
#   fuzz60      every fuzz target for $FUZZ_SECONDS (60) with libFuzzer (clang)
#   lint docs   the lints; the man pages and the documents' links
#   package     two builds of every package, one of them installed into a fresh root (minutes)
#   analyze     cppcheck and clang --analyze over the engine and the front (minutes at first)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

# suites DIR ARG...: compiles and tests
suites() {
  local dir=$1
  shift
  compile "$dir"
  "$MESON" test -C "$dir" --no-rebuild --print-errorlogs "$@"
}

need() {
  command -v "$1" >/dev/null || {
    echo "ci: $1 is not installed" >&2
    exit 1
  }
}

job_gcc() {
  CC=gcc configure build-gcc --werror
  suites build-gcc --no-suite package
}

job_clang() {
  need clang
  CC=clang configure build-clang --werror
  suites build-clang --no-suite package
}

# Start-up of the programs under test is slow: three times the patience.
job_asan() {
  configure build-asan -Db_sanitize=address,undefined -Db_lundef=false --werror
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  suites build-asan --no-suite lint --no-suite lint-slow --no-suite analyze --no-suite package --timeout-multiplier 3
}

# Some kernels randomise addresses further than the sanitizer of gcc 12 knows.
job_tsan() {
  configure build-tsan -Db_sanitize=thread -Db_lundef=false --werror
  export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp"
  compile build-tsan
  setarch -R "$MESON" test -C build-tsan --no-rebuild --print-errorlogs --no-suite lint --no-suite lint-slow --no-suite analyze --no-suite package --timeout-multiplier 5
}

job_release() {
  configure build-release --buildtype=release --werror
  suites build-release --no-suite lint --no-suite lint-slow --no-suite analyze --no-suite package
}

job_fuzz60() {
  local exe name work found=0
  need clang
  CC=clang configure build-fuzz -Dfuzz=true -Db_lundef=false
  compile build-fuzz
  for exe in build-fuzz/tests/fuzz/fuzz_*; do
    [ -f "$exe" ] && [ -x "$exe" ] || continue
    name=${exe##*/fuzz_}
    work=build-fuzz/found/$name
    mkdir -p "$work"
    echo "== $name"
    "$exe" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build-fuzz/crash-$name-" "$work" "tests/fuzz/corpus/$name"
    found=$((found + 1))
  done
  echo "$found fuzz targets ran"
}

job_lint() {
  configure build
  suites build --suite lint --suite lint-slow
}

job_analyze() {
  local tool failed=0
  need cppcheck
  need clang
  configure build
  for tool in cppcheck clang; do
    "$PYTHON" tests/lint/analyze.py . build "$tool" || failed=1
  done
  [ "$failed" = 0 ]
}

job_package() {
  configure build
  suites build --suite package
}

job_docs() {
  local page
  "$PYTHON" tests/lint/docs.py .
  for page in docs/man/*.scd; do
    [ -e "$page" ] || continue
    need scdoc
    scdoc <"$page" >/dev/null
  done
  echo "documents are fine"
}

[ $# -gt 0 ] || set -- gcc clang asan tsan release lint docs
for job in "$@"; do
  case $job in
    gcc | clang | asan | tsan | release | fuzz60 | lint | analyze | package | docs)
      echo "=== $job"
      "job_$job"
      ;;
    *)
      echo "ci: there is no job $job (gcc clang asan tsan release fuzz60 lint analyze package docs)" >&2
      exit 2
      ;;
  esac
done
