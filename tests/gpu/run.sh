#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks torch_ltc on this machine's GPU, with what tests/gpu/stage.sh put there:
#
#   tests/gpu/run.sh FOLDER [PART ...]
#
# PART, all of them if none is named:
#   about      the card, the driver, PyTorch
#   driver     ltc-conformance: the contract, values of kernels, training; no Python
#   python     kernels, PyTorch's own kernels, copies, training and errors by
#              scripts, with the wheel of FOLDER
#   groups     process groups, whose NCCL has the GPU's memory: two ranks where
#              there are two GPUs, else one
#   speed      a table of times beside eager CUDA, and what a step did; of the
#              workloads in $WORKLOADS alone, if there are any
#   ops        the first sample of each op of OpInfo beside eager's on the CPU
#   sanitizer  programs and values again, under compute-sanitizer
#
# What tells most comes first, and each part has a limit: all of them together
# take less than 8 minutes.
# Each part ends with one line: passed, failed or skipped, and its seconds. Reports
# go to $OUT, or to FOLDER. PYTHON names another interpreter than python3.
set -uo pipefail
stage=$(realpath "${1:?usage: tests/gpu/run.sh FOLDER [PART ...]}")
shift
parts=${*:-about driver python groups speed ops sanitizer}
root=$(realpath "$(dirname "$0")/../..")
out=${OUT:-$stage}
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xJf "$stage/tools.tar.xz" || exit 2
conformance=("$work/bin/ltc-conformance" --plugin "$work/lib/libltc_driver_cuda.so")
skipped=77

about() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap \
      --format=csv || return
  "$python" -c 'import sys, torch
print("Python", sys.version.split()[0], "PyTorch", torch.__version__)' ||
    echo "no PyTorch"
}

driver() {
  timeout 50 "${conformance[@]}" --json "$out/conformance.json" \
      --junit "$out/conformance.xml" > "$out/conformance.log"
  local status=$?
  grep -E '^\[  (PASSED|FAILED|SKIPPED) ' "$out/conformance.log"
  return $status
}

sanitizer() {
  command -v compute-sanitizer > /dev/null || return $skipped
  timeout 60 compute-sanitizer --error-exitcode 9 "${conformance[@]}" \
      --suite program,faults,values > "$out/sanitizer.log"
  local status=$?
  tail -n 2 "$out/sanitizer.log"
  return $status
}

# Puts the wheel into $work/site, once.
install() {
  local wheels=("$stage"/torch_ltc-*.whl)
  [ -e "${wheels[0]}" ] || return $skipped
  [ -d "$work/site" ] ||
    "$python" -m pip install -q --no-index --no-deps --target "$work/site" \
        "${wheels[0]}" "$stage"/pytest/*.whl
}

python() {
  install || return
  cd "$root/tests/python" || return
  LTC_TEST_GPU=cuda PYTHONPATH="$work/site" timeout 110 \
      "$python" -m pytest -q -p no:cacheprovider --junit-xml="$out/python.xml" \
      tools/test_cuda_library.py tools/test_gpu_kernels.py tools/test_emulator.py \
      -k "ptx or cuda"
}

groups() {
  install || return
  cd "$root/tests/python" || return
  LTC_TEST_GPU=cuda PYTHONPATH="$work/site" timeout 50 \
      "$python" -m pytest -q -p no:cacheprovider -m "slow or long" \
      --junit-xml="$out/groups.xml" distributed/test_gpu_groups.py
}

speed() {
  install || return
  LTC_DEVICE=cuda LTC_CACHE=off PYTHONPATH="$work/site" timeout 140 \
      "$python" "$root/tests/gpu/speed.py" "$out/speed.json" --seconds 115 \
      ${WORKLOADS-}
}

ops() {
  install || return
  LTC_DEVICE=cuda PYTHONPATH="$work/site" timeout 60 \
      "$python" "$root/tests/python/sweep_ops.py" --limit 1 --jobs "$(nproc)" \
      --checks forward:float32,backward:float32,forward:bfloat16 \
      --json "$out/ops.json" > "$out/ops.log" 2>&1
  local status=$?
  grep -A 9 '^check ' "$out/ops.log" || tail -n 3 "$out/ops.log"
  return $status
}

result=0
for part in $parts; do
  case $part in
    about | driver | python | groups | speed | ops | sanitizer) ;;
    *) echo "run.sh: there is no part $part"; exit 2 ;;
  esac
  SECONDS=0
  ($part)
  status=$?
  case $status in
    0) word=passed ;;
    "$skipped") word=skipped ;;
    *) word=failed result=1 ;;
  esac
  echo "$part: $word, $SECONDS s"
done
exit $result
