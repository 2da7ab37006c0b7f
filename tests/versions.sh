#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds for other versions of PyTorch beside the build's own, and runs tests/smoke.sh
# with each. The build serves all of them meanwhile, as a wheel may, and only what it
# served before at the end.
#
#   tests/versions.sh BUILD [VERSION ...]    (the newest that is served)
#
# Where there is no download, no room or no time, it says so and skips the rest.

set -uo pipefail
build=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || set -- 2.14.1
build_limit=${TEST_BUILD_SECONDS:-1500} # a cold build takes 7 minutes of one core
failed=0

say() { printf 'versions: %s\n' "$*"; }

room=$(df --output=avail -BM "$build" | tail -1 | tr -dc 0-9)
if ((room < 1024)); then
  say "skipped: $build has $room MiB left, and 1 GiB is needed"
  exit 0
fi

before=$(sed -n 's/^LTC_TORCH_DIRS:[A-Z]*=//p' "$build/CMakeCache.txt")
own=$(python -c 'import importlib.metadata as m; print(m.version("torch").split("+")[0])')
folders=${before:-$(python cmake/fetch_torch.py "$own")} || exit 1
versions=()
for version in "$@"; do
  if [[ ${version%.*} == "${own%.*}" ]]; then
    say "skipped $version: PyTorch $own is installed, and all other suites run with it"
  elif folder=$(python cmake/fetch_torch.py "$version"); then
    versions+=("$version=$folder")
    [[ ";$folders;" == *";$folder;"* ]] || folders+=";$folder"
  elif (($? == 3)); then
    say "skipped $version"
  else
    exit 1
  fi
done
((${#versions[@]})) || exit 0

restore() {
  local each
  cmake "$build" "-DLTC_TORCH_DIRS=$before" >/dev/null
  for each in "${versions[@]}"; do
    [[ ";$before;" == *";${each#*=};"* ]] || rm -rf "$build/lib/torch${each%.*=*}"
  done
}
trap restore EXIT

cmake "$build" "-DLTC_TORCH_DIRS=$folders" >/dev/null || exit 1
start=$SECONDS
timeout "$build_limit" ninja -C "$build" python_package
case $? in
  0) say "built for ${versions[*]%%=*} in $((SECONDS - start)) s" ;;
  124)
    say "skipped: the build is not done after $build_limit s; the next run goes on with it"
    exit 0
    ;;
  *) exit 1 ;;
esac

for each in "${versions[@]}"; do
  say "PyTorch ${each%%=*}"
  tests/smoke.sh "${each#*=}" "$build/python" || failed=1
done
exit "$failed"
