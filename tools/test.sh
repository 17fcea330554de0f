#!/usr/bin/env bash
# The tests, in two halves: tools/test.sh PYTHON [ARGUMENT OF PYTEST ...]
# What XLA's settings decide is tested with XLA as users have it, all else with programs that are compiled quickly
# (tests/conftest.py). Both halves run; neither has the tests of
# whole programs, which are `make programs`. It fails if one does, and ends in pytest's summary of a half that failed. A half
# of which the arguments select nothing is no failure, unless they select nothing of the other either.
set -uo pipefail
python=$1
shift
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT
# What pytest exits with if no test was selected.
none=5

# An empty XLA_FLAGS leaves XLA as users have it.
XLA_FLAGS="" "$python" -m pytest -q -m "exact and not programs and not stress" "$@" | tee "$shown"
first=$?
[ "$first" -le 1 ] || [ "$first" -eq "$none" ] || exit "$first"
"$python" -m pytest -q -m "not exact and not programs and not stress" "$@"
second=$?

if [ "$first" -eq 1 ] && [ "$second" -ne 1 ]; then
  echo "The half that compares numbers failed:" >&2
  sed -n '/ short test summary info /,$p' "$shown"
fi
[ "$first" -ne "$none" ] || first=$second
[ "$second" -ne "$none" ] || second=$first
[ "$first" -eq 0 ] || exit "$first"
exit "$second"
