#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure the tools that `make` needs are there: tools/setup.sh build|demo|test|check.
# As root on Debian or Ubuntu it installs what is missing; otherwise it prints the one
# command to run and stops. It runs before every make target, so when nothing is missing
# it must return at once: it only looks for files and never asks the package manager.
set -eu

group=${1:-test}
missing=()  # packages without which this target cannot run
optional=() # packages that widen what is tested
later=()    # packages that other targets will ask for

need() { # need GROUPS COMMAND PACKAGE
    command -v "$2" >/dev/null 2>&1 && return
    case " $1 " in
    *" $group "*) missing+=("$3") ;;
    *) later+=("$3") ;;
    esac
}

has_file() { # has_file PATH…: does one of them exist?
    local path
    for path in "$@"; do
        [ -e "$path" ] && return 0
    done
    return 1
}

need "build demo test check" g++ build-essential
need "build demo test check" python3 python3
need "build demo test check" meson meson
need "build demo test check" ninja ninja-build
need "build demo test check" pkg-config pkg-config
need "test check" clang clang
need "test" valgrind valgrind
need "check" clang-format clang-format
need "check" clang-tidy clang-tidy
# Matrix products use OpenBLAS when it is there; the library opens it at run time.
has_file /usr/lib/*/libopenblas.so.0 /usr/lib*/libopenblas*.so.0 \
    /usr/local/lib/libopenblas*.so.0 || optional+=(libopenblas0-pthread)
# Fourier transforms use FFTW for some lengths, likewise.
has_file /usr/lib/*/libfftw3.so.3 /usr/lib*/libfftw3.so.3 /usr/local/lib/libfftw3.so.3 ||
    optional+=(libfftw3-double3)
has_file /usr/lib/*/libfftw3f.so.3 /usr/lib*/libfftw3f.so.3 /usr/local/lib/libfftw3f.so.3 ||
    optional+=(libfftw3-single3)
# Native kernels are compiled by a plug-in on LLVM; without it the base kernels do it all.
has_file /usr/lib/llvm-1[5-9]/include/llvm-c/Core.h /usr/lib/llvm-[2-9]?/include/llvm-c/Core.h ||
    optional+=(llvm-19-dev)
has_file /usr/include/zstd.h || optional+=(libzstd-dev)
has_file /usr/include/zlib.h || optional+=(zlib1g-dev)
if [ "$group" = demo ] || [ "$group" = test ]; then
    # Peers of the experiments, and what makes virtual environments: for those in Python, and
    # for NumPy 2, which the tests compare with.
    command -v gfortran >/dev/null 2>&1 || optional+=(gfortran)
    has_file /usr/include/fftw3.h /usr/local/include/fftw3.h || optional+=(libfftw3-dev)
    python3 -c 'import ensurepip, venv' 2>/dev/null || optional+=(python3-venv)
fi
if [ "$group" = test ]; then
    # The exact results that the accuracy of math functions is measured against.
    has_file /usr/include/mpfr.h /usr/include/*/mpfr.h /usr/local/include/mpfr.h ||
        optional+=(libmpfr-dev)
    has_file /usr/include/mpc.h /usr/include/*/mpc.h /usr/local/include/mpc.h ||
        optional+=(libmpc-dev)
fi

packages=("${missing[@]}" "${optional[@]}")
[ ${#packages[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing, by their Debian names: ${packages[*]}"
    [ ${#missing[@]} -eq 0 ] && exit 0
    echo "Install them with this system's package manager, then run make again."
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    if [ ${#missing[@]} -eq 0 ]; then
        echo "Going on without ${packages[*]} (sudo apt-get install -y ${packages[*]} adds that)."
        exit 0
    fi
    echo "Some tools are missing. Run this, then make again:"
    echo
    # With what the other targets need, so that this has to be done once.
    echo "    sudo apt-get update && sudo apt-get install -y" "${packages[@]}" "${later[@]}"
    echo
    exit 1
fi

echo "Installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null || echo "apt-get update failed; trying with the lists there are."
if [ ${#missing[@]} -gt 0 ]; then
    apt-get install -y -q --no-install-recommends "${missing[@]}"
fi
if [ ${#optional[@]} -gt 0 ]; then
    # One by one, since some systems have not all of them, or an older LLVM.
    for package in "${optional[@]}"; do
        installed=no
        names=("$package")
        [ "$package" = llvm-19-dev ] && names+=(llvm-18-dev llvm-17-dev llvm-16-dev llvm-15-dev)
        for name in "${names[@]}"; do
            apt-get install -y -q --no-install-recommends "$name" && installed=yes && break
        done
        [ $installed = yes ] || echo "Going on without $package"
    done
fi
