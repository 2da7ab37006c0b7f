#!/bin/sh
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles by ccache, so that what another build folder or checkout has compiled is
# found, precompiled headers or not.
#
#   cmake/ccache.sh CCACHE BASE COMPILER ARGUMENT...
#
# A precompiled header holds absolute paths: each folder makes its own, and ccache
# knows it by a sum of what was read for it, which lies beside it.

ccache=$1
export CCACHE_BASEDIR=$2 CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
shift 2
# ccache takes care of other arguments that name the checkout.
for argument; do
  shift
  set -- "$@" "${argument#"$PWD/"}"
done

case " $* " in
  *" -emit-pch "*) ;;
  *) exec "$ccache" "$@" ;;
esac

"$@" || exit
while [ $# -gt 0 ]; do
  case $1 in
    -MF) depends=$2 ;;
    -o) header=$2 ;;
  esac
  shift
done
tr -s ' \\\n' '\n' < "$depends" | grep -v -e ':$' -e '/cmake_pch\.hxx' |
  xargs sha256sum > "$header.sum" && sed -i 's/ .*//' "$header.sum" || rm -f "$header.sum"
