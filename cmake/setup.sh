#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prepares a machine for building: system packages, and a virtual environment
# with the pinned packages of cmake/requirements.txt, which imports torch_ltc
# from a build. Does only what is not done yet, so that `make` can call it every
# time.
#
#   cmake/setup.sh [ENVIRONMENT [BUILD [PYTHON [PACKAGE ...]]]]
#
# Where packages are named, the environment gets those alone, in the pinned versions.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${1:-.venv}
build=${2:-build/release}
packages=(-r cmake/requirements.txt) named="Python packages (PyTorch is a few hundred MB)"
(($# < 4)) || packages=(-c cmake/requirements.txt "${@:4}") named=${*:4}

# What each is for: compiler, linker, formatter; LLVM and MLIR with mlir-tblgen and
# FileCheck; what LLVM's static libraries refer to; the C++ tests, and examples that
# are tested; fast rebuilds.
system_packages=(
  g++ clang-22 lld-22 clang-format-22
  llvm-22-dev libmlir-22-dev mlir-22-tools
  zlib1g-dev libzstd-dev libedit-dev
  libgtest-dev libcpp-httplib-dev pkgconf
  ccache
)

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$@" >&2; exit 1; }

python_is_new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

# Sets `python`, and adds to system_packages what a system Python lacks. Takes the
# interpreter that is named and no other, or the first that will do.
find_python() {
  local candidate missing candidates=("$@")
  (($#)) || candidates=(python3 python3.11 python3.12 python3.13 python3.10 /usr/bin/python3)
  for candidate in "${candidates[@]}"; do
    if python_is_new_enough "$candidate"; then
      python=$("$candidate" -c 'import os, sys; print(os.path.realpath(sys._base_executable))')
      missing=$("$python" - <<'END'
import importlib.util, os, sys, sysconfig
name = "python%d.%d" % sys.version_info[:2]
if not importlib.util.find_spec("ensurepip"):
    print(name + "-venv")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print(name + "-dev")
END
)
      if [[ -n $missing && $python != /usr/bin/* ]]; then
        say "$python lacks what Debian calls $(echo $missing)"
        continue
      fi
      system_packages+=($missing)
      return
    fi
  done
  (($#)) && fail "$1 is no Python 3.10 or later with the venv module and C headers." \
                 "  Name one by its path: make PYTHON=/path/to/python3.12"
  if [[ ! -e /usr/bin/python3 ]] && command -v dpkg-query >/dev/null; then
    python=/usr/bin/python3
    system_packages+=(python3 python3-venv python3-dev)
    return
  fi
  fail "Python 3.10 or later is needed, with the venv module and C headers." \
       "  On Debian or Ubuntu: apt-get install python3 python3-venv python3-dev" \
       "  Or name one: make PYTHON=/path/to/python3"
}

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_system_packages() {
  local package missing=() root=()
  if ! command -v dpkg-query >/dev/null; then
    return # another system: CMake says what it cannot find
  fi
  for package in "${system_packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "these packages are missing: ${missing[*]}" \
      "  There is no sudo; as root run: apt-get install ${missing[*]}"
    root=(sudo)
    [[ -t 0 ]] || root=(sudo -n) # nobody is there to type a password
  fi
  say "installing system packages: ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
             -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  local install=("${apt[@]}" install --no-install-recommends "${missing[@]}")
  if ! { "${apt[@]}" update && "${install[@]}"; } </dev/null >&2; then
    fail "system packages could not be installed. By hand, as root:" \
         "  apt-get update && apt-get install ${missing[*]}"
  fi
}

# Made here, and with this interpreter.
is_ours() {
  "$venv/bin/python" -m pip --version | grep -qF "$PWD/$venv/" &&
    "$venv/bin/python" -c 'import os, sys; sys.exit(os.path.realpath(sys._base_executable) != sys.argv[1])' "$python"
}

make_virtual_environment() {
  if ! is_ours 2>/dev/null; then
    say "making $venv with $python"
    "$python" -m venv --clear "$venv" || fail "$python cannot make virtual environments." \
      "  On Debian or Ubuntu: apt-get install python3-venv"
  fi
  say "installing $named into $venv"
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
    "${packages[@]}" </dev/null | { grep -Ev '^(Requirement already|Ignoring )' || true; } ||
    fail "pip could not install cmake/requirements.txt; its message is above." \
         "  Without a network, tell pip where wheels are: pip config set global.find-links DIRECTORY"
}

# The environment imports torch_ltc straight from the build, which lays out
# <build>/python like site-packages, with links to the sources.
link_package() {
  local site
  site=$(echo "$venv"/lib/python3*/site-packages)
  echo "$PWD/$build/python" > "$site/torch_ltc_build.pth"
}

# What the environment was made from; a moved checkout makes a new one.
stamp="$PWD ${*:3} $(cat cmake/requirements.txt cmake/setup.sh | sha256sum)"
if [[ -x $venv/bin/python && $(cat "$venv/torch_ltc.stamp" 2>/dev/null) == "$stamp" ]]; then
  install_system_packages
else
  python=
  find_python ${3+"$3"}
  install_system_packages
  make_virtual_environment
  link_package
  echo "$stamp" > "$venv/torch_ltc.stamp"
fi
