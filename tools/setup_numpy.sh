#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
#   tools/setup_numpy.sh FOLDER
#
# Makes a virtual environment with NumPy 2 in FOLDER, unless Python has it already: tests and
# benchmarks compare with it, and NumPy 1 has other types for some results. Without one they
# go on.
set -u
folder=$1
for python in python3 /usr/bin/python3 "$folder/bin/python"; do
    "$python" -c 'import numpy; raise SystemExit(int(numpy.__version__.split(".")[0]) < 2)' \
        2>/dev/null && exit 0
done
echo "Installing NumPy 2 into $folder"
rm -rf "$folder"
if ! { python3 -m venv "$folder" && "$folder/bin/pip" install -q 'numpy>=2'; } >/dev/null 2>&1; then
    rm -rf "$folder"
    echo "Going on without NumPy 2."
fi
exit 0
