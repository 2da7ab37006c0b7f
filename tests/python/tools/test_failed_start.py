# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A start that fails says what failed, with the remedy, at every use."""

import os
import shutil
from pathlib import Path

import pytest
import torch_ltc
from torch_ltc import libraries

PACKAGE = Path(torch_ltc.__file__).parent
TORCH = f"lib/torch{libraries.VERSION}"  # a build may serve several

# Each use twice, the ones that load nothing in front: what a use leaves behind must
# not change what the next one says.
USES = """
import torch
import torch_ltc

USES = {
    "metrics": torch_ltc.metrics.snapshot,
    "randn": lambda: torch.randn(3, device="lazy"),
    "to": lambda: torch.ones(3).to("lazy"),
    "zeros_like": lambda: torch.zeros_like(torch.ones(2), device="lazy"),
    "strided": lambda: torch.empty_strided((2, 2), (2, 1), device="lazy"),
    "module": lambda: torch.nn.Linear(2, 2).to("lazy"),
    "settings": lambda: torch_ltc.settings.table(),
    "mark_step": lambda: torch.lazy.mark_step(),
    "cache": lambda: torch_ltc.cache.directory(),
    "init": lambda: torch.lazy.init(),
}
for name in [*USES, *USES, *reversed(USES)]:
    try:
        print(name, "->", USES[name]())
    except Exception as error:
        print(type(error).__name__, "|", str(error).replace("\\n", " "))
print("and the CPU:", torch.ones(2).tolist())
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the installed package, whose libraries a test may spoil."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "torch_ltc", ignore=shutil.ignore_patterns("lib"))
    # Of a build, the module looks for them there.
    folder = tmp_path / "lib"
    folder.mkdir()
    (site / "torch_ltc" / "lib").symlink_to(folder)
    for library in (PACKAGE / "lib").glob("**/*.so"):
        link = folder / library.relative_to(PACKAGE / "lib")
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(library.resolve())
    info = site / "torch_ltc-0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch_ltc\nVersion: 0\n"
    )
    (info / "entry_points.txt").write_text(
        "[torch.backends]\ntorch_ltc = torch_ltc:_autoload\n"
    )
    return site / "torch_ltc"


@pytest.fixture
def says(start_python, package):
    """Run all uses; return the one error that each of them raised."""

    def says(before="", kinds=("RuntimeError",), **environment):
        path = f"{package.parent}:{os.environ.get('PYTHONPATH', '')}"
        done = start_python(before + USES, PYTHONPATH=path, **environment)
        *lines, last = done.stdout.splitlines()
        assert last == "and the CPU: [1.0, 1.0]"
        assert not [line for line in lines if "->" in line], done.stdout
        split = [line.split(" | ", 1) for line in lines]
        assert len(split) == 30
        assert {kind for kind, _ in split} == set(kinds)
        texts = {text.removeprefix(NO_MODULE) for _, text in split}
        assert len(texts) == 1, texts
        return texts.pop(), done.stderr

    return says


NO_MODULE = "module 'torch' has no attribute 'lazy'; "
# Where the device is not there at all, the module torch.lazy is not either.
OFF = ("RuntimeError", "AttributeError")


def cut_short(path, kept):
    """Leave some bytes of a library, or a part of them, as a full disk does."""
    data = path.resolve().read_bytes()
    path.unlink()
    path.write_bytes(data[: int(kept * len(data)) if kept < 1 else kept])


def test_another_pytorch(says):
    text, told = says(
        """
import importlib.util, sys, types
root = importlib.util.find_spec("torch").submodule_search_locations[0]
version = types.ModuleType("torch.version")
exec(open(root + "/version.py").read(), vars(version))
version.__version__ = "2.99.1+cpu"
sys.modules["torch.version"] = version
""",
        kinds=OFF,
    )
    assert "this build serves PyTorch 2.13" in text and "this is 2.99.1" in text
    assert "pip install" in text and told == text + "\n"


def test_a_library_that_is_gone(says, package):
    (package / "lib/libltc_runtime.so").unlink()
    text, told = says(kinds=OFF)
    assert f"libltc_runtime.so is missing in {package}" in text
    assert "make build" in text
    assert told == text + "\n"


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        (f"{TORCH}/_C.*.so", 0.5),
        (f"{TORCH}/libltc_not_dense.so", 70),
        pytest.param("lib/libltc_compiler.so", 0.5, marks=pytest.mark.slow),
    ],
)
def test_a_library_that_is_cut_short(says, package, pattern, kept):
    (path,) = package.glob(pattern)
    cut_short(path, kept)
    text, told = says(kinds=OFF)
    assert f"{path.name} in {path.parent} is cut short" in text
    assert "--force-reinstall" in text and told == text + "\n"


def test_a_library_of_something_else(says, package):
    (path,) = package.glob(f"{TORCH}/libltc_backend.so")
    path.unlink()
    shutil.copy(package / "lib/libltc_driver_null.so", path)
    text, told = says()
    assert "its libraries cannot be loaded: " in text
    assert "parts of this installation are of different builds (_Z" in text
    assert "undefined symbol" not in text
    assert "--force-reinstall" in text and told == ""


def test_a_text_in_the_place_of_a_library(says, package):
    (path,) = package.glob(f"{TORCH}/libltc_not_dense.so")
    path.unlink()
    path.write_text("version https://git-lfs.github.com/spec/v1\n" * 9)
    text, told = says(kinds=OFF)
    assert "libltc_not_dense.so" in text and "--force-reinstall" in text
    assert told == text + "\n"


@pytest.mark.parametrize("where", ["torch_ltc._C.initialize", "table.apply"])
def test_a_step_of_the_start_that_fails(says, where):
    text, told = says(f"""
import torch, torch_ltc
from torch_ltc import libraries
from torch_ltc.patches import optimizer, table

def fail(*arguments):
    raise ValueError("injected")

if "_C" in "{where}":
    torch_ltc.__path__.append(torch_ltc.libraries.FOLDER)
    import torch_ltc._C
{where} = fail
""")
    assert text == "torch_ltc: device='lazy' is off: ValueError: injected"
    assert told == ""


def test_a_step_that_fails_at_import(says):
    text, told = says("""
import importlib.util, sys
import os
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
torch._register_device_module = lambda *arguments: 1 / 0
""", kinds=OFF)  # fmt: skip
    assert (
        text == "torch_ltc: device='lazy' is off: ZeroDivisionError: division by zero"
    )
    assert told == text + "\n"


def test_another_lazy_backend(start_python):
    done = start_python(
        """
import torch
import torch._lazy.ts_backend
torch._lazy.ts_backend.init()
import torch_ltc
for use in (torch_ltc.metrics.snapshot, torch_ltc.settings.table) * 2:
    try:
        use()
    except RuntimeError as error:
        print(error)
print(hasattr(torch, "lazy"), torch.ones(2).to("lazy").cpu().tolist())
""",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    *errors, last = done.stdout.splitlines()
    assert len(errors) == 4 and len(set(errors)) == 1
    assert "another torch::lazy backend is registered" in errors[0]
    assert "import torch_ltc before" in errors[0]
    assert done.stderr == errors[0] + "\n"
    assert last == "False [1.0, 1.0]"  # which is left alone


def test_pytorchs_own_backend_works_where_ours_is_off(start_python, package):
    (library,) = package.glob(f"{TORCH}/libltc_backend.so")
    library.unlink()
    path = f"{package.parent}:{os.environ.get('PYTHONPATH', '')}"
    done = start_python(
        """
import torch
import torch._lazy.ts_backend
torch._lazy.ts_backend.init()
print((torch.randn(3, device="lazy") * 0 + 2).tolist(), torch.ones(2).to("lazy").cpu())
""",
        PYTHONPATH=path,
    )
    assert done.stdout == "[2.0, 2.0, 2.0] tensor([1., 1.])\n"


def test_an_interrupted_start_begins_again(start_python):
    done = start_python("""
import torch
import torch_ltc
from torch_ltc.patches import table

apply = table.apply
def interrupt(*arguments):
    table.apply = apply
    raise KeyboardInterrupt
table.apply = interrupt
try:
    torch.randn(3, device="lazy")
except KeyboardInterrupt:
    print("interrupted")
torch.lazy.mark_step()
print((torch.arange(4.0, device="lazy") * 2).tolist())
""")
    assert done.stdout == "interrupted\n[0.0, 2.0, 4.0, 6.0]\n"


DRIVERS = """
import torch

def say(use):
    try:
        return str(use())
    except Exception as error:
        return f"{type(error).__name__} | {error}"

uses = [
    lambda: torch.lazy.device_count(),
    lambda: torch.randn(3, device="lazy").cpu(),
    lambda: torch.ones(3).to("lazy"),
    lambda: torch.lazy.memory_allocated(),
]
for use in uses * 2:
    print(say(use).replace("\\n", " "))
"""


@pytest.mark.parametrize(
    ("environment", "found", "remedy"),
    [
        ({"LTC_DEVICE": "nosuch"}, "cannot use the driver", "LTC_DEVICE takes cpu"),
        ({"LTC_CPU_TARGET": "pentium4711"}, "names no CPU", "as x86-64-v3 does"),
    ],
)
def test_a_driver_that_cannot_be_had(start_python, environment, found, remedy):
    done = start_python(DRIVERS, **environment)
    lines = done.stdout.splitlines()
    errors = [line for line in lines if " | " in line]
    assert lines[:4] == lines[4:] and len(errors) >= 4, done.stdout
    assert all(found in line and remedy in line for line in errors), done.stdout
