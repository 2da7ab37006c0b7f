# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the Python package share."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

# Before the libraries read it: a test that counts compiles must not find what
# an earlier run kept, and no test writes into the user's own directory.
os.environ["LTC_CACHE"] = "off"
# Tests are of compiled graphs; test_tiers.py is of those that are not.
os.environ.setdefault("LTC_TIERS", "off")

import torch
import torch_ltc
from fork_server import ForkServer

if not hasattr(torch, "lazy"):
    pytest.exit("device='lazy' is off; the line above says why", returncode=3)

# The tests train what the examples train, and run what the benchmarks run.
for folder in ("examples", "benchmarks"):
    sys.path.append(str(Path(__file__).resolve().parents[2] / folder))


@pytest.fixture(autouse=True)
def the_compiler_fails_at_nothing():
    """What runs as library calls instead has right values, and hides a mistake."""
    before = torch_ltc.metrics.snapshot().get("codegen.fallback", 0)
    yield
    assert torch_ltc.metrics.snapshot().get("codegen.fallback", 0) == before


@pytest.fixture(scope="session")
def fork_server():
    server = ForkServer()
    yield server
    server.close()


def checked(done, returncode):
    assert done.returncode == returncode, done.stdout + done.stderr
    return done


@pytest.fixture
def start_python(tmp_path):
    """Run a program in a fresh interpreter: start_python(code, NAME=value, ...)."""

    def run(code, *, timeout=120, returncode=0, **environment):
        script = tmp_path / "program.py"
        script.write_text(code)
        done = subprocess.run(
            [sys.executable, str(script)],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return checked(done, returncode)

    return run


@pytest.fixture
def run_python(tmp_path, fork_server, start_python):
    """Do the same in a child of a process that has imported torch, if that will do."""

    def run(code, *, timeout=120, returncode=0, **environment):
        everything = os.environ | environment
        if not fork_server.serves(everything):
            return start_python(
                code, timeout=timeout, returncode=returncode, **environment
            )
        script = tmp_path / "program.py"
        script.write_text(code)
        done = fork_server.run(script, everything, tmp_path, timeout)
        return checked(done, returncode)

    return run


@pytest.fixture
def fake_cuda():
    """Return what has a program run on the GPUs of tests/fake_cuda."""
    build = (Path(torch_ltc.__file__).parent / "lib").resolve().parent
    folder = build / "tests/fake_cuda"
    if not folder.exists():
        pytest.skip("this build has no tests/fake_cuda")
    return {"LTC_DEVICE": "cuda", "LD_LIBRARY_PATH": str(folder)}


@pytest.fixture
def cuda(request):
    """Return what has a program run on a GPU of NVIDIA's, if only on a fake one.

    LTC_TEST_GPU=cuda says that there is one (tests/gpu/run.sh).
    """
    if os.environ.get("LTC_TEST_GPU") == "cuda":
        return {"LTC_DEVICE": "cuda"}
    return request.getfixturevalue("fake_cuda")


@pytest.fixture
def emulated_gpu():
    """Return what has the CPU run a GPU's kernels; a race is an error."""
    options = "target=nvptx,races=report"
    return {"LTC_DEVICE": "emulator", "LTC_DEVICE_OPTIONS": options}


@pytest.fixture(params=["emulated_gpu", "cuda"])
def gpu(request):
    """Run on each device that has a GPU's kernels."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def cuda_library(request):
    """Return what gives PyTorch a CUDA, too, on the GPUs of `cuda`.

    The program has to load FAKE_TORCH_CUDA, if there is one, before torch.
    """
    if os.environ.get("LTC_TEST_GPU") == "cuda":
        return {"LTC_DEVICE": "cuda"}
    environment = request.getfixturevalue("fake_cuda")
    library = Path(environment["LD_LIBRARY_PATH"]) / "libfake_torch_cuda.so"
    return environment | {
        "FAKE_TORCH_CUDA": str(library),
        "FAKE_CUDA": "devices=2,delay_us=200",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


@pytest.fixture
def counts():
    """Count what the test does: the metrics' increase since it began."""

    class Counts:
        def __init__(self):
            self.restart()

        def restart(self):
            self.before = torch_ltc.metrics.snapshot()

        def __getitem__(self, name):
            return torch_ltc.metrics.snapshot().get(name, 0) - self.before.get(name, 0)

        def fallbacks(self):
            names = torch_ltc.metrics.snapshot()
            return [n for n in names if n.startswith("record.fallback.") and self[n]]

    torch.lazy.mark_step(wait=True)
    return Counts()


@pytest.fixture
def third_party(monkeypatch):
    """Run models that others wrote: eager's random numbers, nothing downloaded."""
    if sys.version_info < (3, 11):
        pytest.skip("transformers is only installed for Python 3.11 and later")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with torch_ltc.settings.scope(rng="eager"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the packages say about themselves
        yield
