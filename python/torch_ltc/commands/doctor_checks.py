# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ``python -m torch_ltc doctor`` looks at, without the package's libraries."""

import difflib
import importlib.metadata
import os
import platform
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

from torch_ltc import drivers, libraries

# PyTorch's own, of its lazy tensors.
_CORE_VARIABLES = (
    "LTC_ENABLE_DYNAMIC_SHAPES",
    "LTC_ENABLE_SOURCE_INFO",
    "LTC_ENABLE_SYMBOLIC_SHAPES",
    "LTC_EXPERIMENTAL",
    "LTC_FORCE_FALLBACK",
    "LTC_SAVE_TENSORS_FILE",
    "LTC_SAVE_TENSORS_FMT",
    "LTC_TS_CUDA",
)
_MANY_BYTES = 2**20


@dataclass
class Finding:
    """One thing that was looked at."""

    check: str
    state: str  # "ok", "note" or "problem"
    text: str
    remedy: str = ""
    detail: str = ""  # what the system said, word by word

    def __str__(self):
        line = f"{self.state:8} {self.check:12} {self.text}"
        return f"{line}\n{'':21} try: {self.remedy}" if self.remedy else line


@dataclass
class Probe:
    """What a process that used the device said."""

    said: dict
    status: int | None  # None: it did not end
    errors: str

    @property
    def settings(self):
        """All settings, or an empty dict if the libraries cannot be loaded."""
        return self.said.get("settings", {})


def all_findings(probe):
    """Return a `Finding` or more for each check, in order."""
    found = []
    for check in (
        _pytorch,
        _libraries,
        _device,
        _processor,
        _compiler,
        _cache,
        _plugins,
        _gpu,
        _threads,
        _huge_pages,
        _environment,
    ):
        found += check(probe)
    return found


def _ok(check, text):
    return Finding(check, "ok", text)


def _note(check, text, remedy=""):
    return Finding(check, "note", text, remedy)


def _problem(check, text, remedy, detail=""):
    return Finding(check, "problem", text, remedy, detail)


def _pytorch(probe):
    python = platform.python_version()
    text = f"{torch.__version__} on Python {python}; this build serves "
    served = libraries.served()
    text += ", ".join(served) or "none"
    if libraries.VERSION in served:
        yield _ok("PyTorch", text)
    else:
        yield _problem("PyTorch", text, libraries.remedy_for_version())
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        yield _note(
            "PyTorch",
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0: `import torch` finds no device",
            "import torch_ltc in the program, or unset the variable",
        )


def _libraries(probe):
    obstacle = libraries.obstacle()
    if obstacle:
        what, _, remedy = obstacle.partition("; ")
        yield _problem("libraries", what, remedy)
    elif probe.settings:
        yield _ok("libraries", f"in {os.path.dirname(libraries.FOLDER)}")
    elif probe.status is not None and probe.status < 0:
        name = signal.Signals(-probe.status).name
        yield _problem(
            "libraries",
            f"loading them ends the process with {name}",
            f"{libraries.REINSTALL}; if that does not help, report it",
            probe.errors,
        )
    else:
        yield _problem(
            "libraries",
            libraries.in_words(_last_line(probe.errors)),
            libraries.REINSTALL,
            probe.errors,
        )


def _last_line(errors):
    lines = [line for line in errors.splitlines() if line.strip()]
    return lines[-1] if lines else "they cannot be loaded, and nothing says why"


def _device(probe):
    if not probe.settings:
        return
    device = probe.settings["device"]
    if "result" not in probe.said:
        why = libraries.in_words(_last_line(probe.errors))
        if probe.status is None:
            why = probe.errors
        elif probe.status < 0:
            why = f"a small program ends with {signal.Signals(-probe.status).name}"
        yield _problem(
            "device",
            f"{device} does not work: {why}",
            "LTC_DEVICE=cpu; LTC_LOG=debug says more",
            probe.errors,
        )
    elif abs(probe.said["result"] - 234.2) > 1 and device != "null":
        yield _problem(
            "device",
            f"{device} computes {probe.said['result']} where 234.2 is right",
            "LTC_VERIFY=1 finds the op at fault; report it",
        )
    else:
        yield _ok("device", f"{device} runs a small program")


def _processor(probe):
    machine = platform.machine()
    if machine != "x86_64" or platform.system() != "Linux":
        yield _problem(
            "processor",
            f"{platform.system()} on {machine}",
            "Linux on x86-64 is what is served",
        )
        return
    flags = set()
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
            break
    known = [name for name in ("avx2", "fma", "avx512f", "amx_bf16") if name in flags]
    text = f"{os.cpu_count()} x86-64 with {', '.join(known) or 'no AVX2'}"
    if "avx2" in flags and "fma" in flags:
        yield _ok("processor", text)
    else:
        yield _note("processor", f"{text}: kernels are slower without AVX2 and FMA")


def _compiler(probe):
    path = Path(os.path.dirname(libraries.FOLDER), "libltc_compiler.so")
    fallbacks = probe.said.get("counts", {}).get("codegen.fallback", 0)
    if not path.exists():
        yield _problem(
            "compiler", f"{path.name} is missing in {path.parent}", libraries.REINSTALL
        )
    elif fallbacks:
        yield _problem(
            "compiler",
            "it failed at a small program, which ran as library calls",
            "report it; the reproducer lies where the warning says",
            probe.errors,
        )
    elif "counts" in probe.said:
        yield _ok("compiler", f"{path.name}, {path.stat().st_size / 1e6:.0f} MB")


def _cache(probe):
    directory = probe.said.get("cache", "")
    mode = probe.settings.get("cache")
    if mode == "off":
        yield _note(
            "cache", "off: each process compiles all its graphs", "unset LTC_CACHE"
        )
    if not probe.settings or mode == "off":
        return
    if not directory:
        yield _problem("cache", "the user has no home directory", "set LTC_CACHE_DIR")
        return
    place = Path(directory)
    if not place.exists():
        parent = next(each for each in place.parents if each.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            yield _ok("cache", f"{directory} is made at the first compile")
        else:
            yield _problem(
                "cache", f"{parent} cannot be written to", "set LTC_CACHE_DIR"
            )
        return
    yield from _cache_in(place, mode, probe)


def _cache_in(place, mode, probe):
    if not place.is_dir():
        yield _problem("cache", f"{place} is no directory", "move it, or LTC_CACHE_DIR")
        return
    if mode == "rw" and not os.access(place, os.W_OK | os.X_OK):
        yield _problem(
            "cache",
            f"{place} cannot be written to, so nothing is kept",
            "LTC_CACHE=ro says that this is meant; or set LTC_CACHE_DIR",
        )
    others = place.stat().st_mode & 0o022
    if others and not probe.settings["cache_trust"]:
        yield _problem(
            "cache",
            f"others may write to {place}, so nothing in it is used",
            f"chmod go-w {place}, or name them in LTC_CACHE_TRUST",
        )
    entries = list(place.glob("*.ltc"))
    size = sum(entry.stat().st_size for entry in entries)
    limit = probe.settings["cache_max_bytes"]
    share = f" of {limit / 1e6:.0f}" if limit else ""
    yield _ok("cache", f"{len(entries)} entries, {size / 1e6:.0f}{share} MB in {place}")
    free = shutil.disk_usage(place).free
    if free < 100 * _MANY_BYTES:
        yield _problem(
            "cache",
            f"{free / 1e6:.0f} MB are free on its disk",
            "ltc-cache prune --max-bytes 1G, or set LTC_CACHE_DIR",
        )
    faults = probe.said.get("faults", [])
    old = [fault for fault in faults if "format version" in fault[1]]
    faults = [fault for fault in faults if fault not in old]
    if old:
        yield _note(
            "cache",
            f"{len(old)} entries of other versions, which nobody here reads",
            "ltc-cache verify --remove",
        )
    if faults:
        key, fault = faults[0]
        yield _problem(
            "cache",
            f"{len(faults)} bad entries, such as {key}: {fault}",
            "ltc-cache verify --remove",
        )


def _plugins(probe):
    folders = [
        each for each in os.environ.get("LTC_PLUGIN_PATH", "").split(":") if each
    ]
    for folder in folders:
        if not os.path.isdir(folder):
            yield _problem(
                "plugins", f"{folder} is no directory", "correct LTC_PLUGIN_PATH"
            )
    names = [
        Path(found).name.removeprefix("libltc_driver_").removesuffix(".so")
        for folder in [os.path.dirname(libraries.FOLDER), *folders]
        for found in sorted(Path(folder).glob("libltc_driver_*.so"))
    ]
    entries = list(importlib.metadata.entry_points(group=drivers.GROUP))
    for entry in entries:
        try:
            path = drivers.path_from(entry)
            if not os.path.exists(path):
                raise RuntimeError(
                    f"the plugin {entry.name} names {path}, which is not"
                )
        except RuntimeError as error:
            yield _problem("plugins", str(error), "reinstall the package that has it")
    known = [*names, *(entry.name for entry in entries)]
    yield from _unknown_drivers(known) or [_ok("plugins", ", ".join(known))]


def _unknown_drivers(known):
    """Return a problem for each driver that LTC_DEVICE names and nobody has."""
    found = []
    for device in map(str.strip, os.environ.get("LTC_DEVICE", "cpu").split(",")):
        wanted, _ = drivers.split_argument(device)
        if "/" in wanted or wanted in known:
            continue
        near = difflib.get_close_matches(wanted, known, 1, 0)
        found.append(
            _problem(
                "plugins",
                f"LTC_DEVICE={wanted} is no driver; there are {', '.join(known)}",
                f"LTC_DEVICE={near[0] if near else 'cpu'}, or LTC_PLUGIN_PATH",
            )
        )
    return found


def _gpu(probe):
    text = "none that is seen"
    if shutil.which("nvidia-smi"):
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 and done.stdout.strip():
            text = done.stdout.strip().replace("\n", ", ")
    elif os.path.exists("/proc/driver/nvidia/version"):
        text = "an NVIDIA driver"
    if text.startswith("none"):
        yield _ok("GPU", text)
    else:
        device = os.environ.get("LTC_DEVICE", "cpu")
        said = f"{text}: LTC_DEVICE=cuda uses it, and LTC_DEVICE is {device}"
        yield _note("GPU", said)


def _threads(probe):
    cores = len(os.sched_getaffinity(0))
    limit = _cgroup_cores()
    usable = min(cores, limit) if limit else cores
    threads = torch.get_num_threads()
    text = f"{threads} threads on {usable:g} cores"
    if threads > usable and threads > 1:
        yield _problem(
            "threads",
            f"{text}: they wait for each other",
            f"OMP_NUM_THREADS={max(1, int(usable))}",
        )
    elif threads == 1 and usable >= 2:
        yield _note("threads", text, "unset OMP_NUM_THREADS to use all")
    else:
        yield _ok("threads", text)


def _cgroup_cores():
    """Return how many cores a container may use, or None for all."""
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").strip().partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _huge_pages(probe):
    text = _read("/sys/kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", text)
    if not chosen:
        yield _note("huge pages", "the kernel does not say")
    elif chosen[1] == "never":
        yield _note(
            "huge pages",
            "never: large tensors take more time in the memory's tables",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root",
        )
    else:
        yield _ok("huge pages", chosen[1])


def _environment(probe):
    known = setting_variables()
    found = [name for name in os.environ if name.startswith("LTC_")]
    problems = []
    for name in sorted(found):
        if name in known or name in _CORE_VARIABLES or not known:
            continue
        near = difflib.get_close_matches(name, known, 1, 0)
        remedy = f"{near[0]}, or unset it" if near else "unset it"
        words = f"{name} is no setting and is ignored"
        problems.append(_problem("environment", words, remedy))
    for line in probe.errors.splitlines():
        refused = re.search(r"(LTC_\w+) is ignored: (.*?)(?:; (.*))?$", line)
        if refused:
            remedy = refused[3] or f"unset {refused[1]}"
            words = f"{refused[1]}: {refused[2]}"
            problems.append(_problem("environment", words, remedy))
    yield from problems
    used = [f"{name}={os.environ[name]}" for name in sorted(found) if name in known]
    if used or not problems:
        yield _ok("environment", ", ".join(used) or "no setting")


def setting_variables():
    """Return the variables of all settings, without the libraries."""
    table = _read(Path(__file__).parents[1] / "settings.def")
    names = re.findall(r"^LTC_SETTING\([^,]+, (\w+),", table, re.MULTILINE)
    return [f"LTC_{name.upper()}" for name in names]


def _read(path):
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
