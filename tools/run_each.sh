#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the given programs one after another, each under its name: what `make demo` and
# `make bench` show. Python scripts need NumPy and are left out without it. Goes on after a
# failure and reports it at the end.
set -u

python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done

failed=0
for program in "$@"; do
    name=$(basename "$program")
    printf '\n== %s\n' "$name"
    case $program in
    *.py)
        if [ -z "$python" ]; then
            echo "left out: python3 cannot import numpy"
            continue
        fi
        run=("$python" "$program")
        ;;
    *) run=("$program") ;;
    esac
    "${run[@]}" || { echo "$name ended with status $?"; failed=$((failed + 1)); }
done
[ "$failed" -eq 0 ] || { printf '\n%d of %d failed\n' "$failed" "$#"; exit 1; }
