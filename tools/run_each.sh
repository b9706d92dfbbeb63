#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the given programs one after another, each under its name: what `make demo` and
# `make bench` show. Python scripts need NumPy and are left out without it. Goes on after a
# failure and reports it at the end.
set -u

# Programs that compare themselves with NumPy start `python3`, so the one that has it, perhaps
# in the environment of tools/setup_numpy.sh, comes first for them too.
python=
for folder in "${MESON_BUILD_ROOT:-.}/numpy/bin" "" /usr/bin; do
    candidate=${folder:+$folder/}python3
    if "$candidate" -c 'import numpy' 2>/dev/null; then
        python=$candidate
        PATH=${folder:+$folder:}$PATH
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
