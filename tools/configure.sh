#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   tools/configure.sh FOLDER [OPTION…]
#
# Configures a build folder with these options of `meson setup`; and again, with the options and
# the compiler it has, when packages were installed since: Meson remembers what it did not find,
# and what has come by then (a compiler plug-in's LLVM, the accuracy tests' MPFR) would be left
# out for ever. It runs before every build, so when nothing has changed it starts no process.
# A folder that a person configured with Meson is left as it is.
set -eu

folder=$1
shift
stamp=$folder/configured # when that was done, and with what CC

# Folders that a package cannot be installed without changing. The one with the documentation of
# every package has news also where the others have files in folders of their own.
places=(/usr/share/doc /usr/{,local/}{bin,include,lib} /usr/{include,lib}/*-linux-gnu /usr/lib64)

is_current() {
    local place
    [ -e "$folder/build.ninja" ] || return 1
    [ -e "$stamp" ] || return 0
    for place in "${places[@]}"; do
        if [ "$place" -nt "$stamp" ]; then return 1; fi
    done
}

is_current && exit 0
mkdir -p "$folder"
if [ -e "$folder/build.ninja" ]; then
    is_first=no
    compiler=$(<"$stamp")
else
    is_first=yes
    compiler=${CC:-}
fi
echo "$compiler" >"$stamp.new" # before Meson looks: what comes while it does is news
if [ -n "$compiler" ]; then export CC=$compiler; else unset CC; fi
if [ $is_first = yes ]; then
    meson setup "$folder" "$@"
else
    echo "Configuring $folder again, since packages were installed. Meson finds its records empty:"
    # Part of what is in them no command of Meson forgets. Without them it starts from the options
    # it was given, and what is compiled stays.
    : >"$folder/meson-private/coredata.dat"
    meson setup --reconfigure "$folder"
fi
mv "$stamp.new" "$stamp"
