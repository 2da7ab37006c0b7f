# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`import torch` makes the device known, loads next to nothing, and never fails."""

import os
import shutil
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch_ltc import libraries

PACKAGE = Path(torch_ltc.__file__).parent
VERSION = ".".join(torch.__version__.split(".")[:2])

LOADED = """
import sys

def loaded():
    "Libraries of ours in this process."
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if ".so" in line}
    files = [path.rsplit("/", 2)[1:] for path in paths if "/" in path]
    return sorted(
        name
        for folder, name in files
        if name.startswith("libltc_") or (folder.startswith("torch2") and "_C." in name)
    )
"""


def test_import_torch_is_enough(start_python):
    done = start_python("""
import torch
print((torch.arange(4., device="lazy") * 2).sum().item())
""")
    assert done.stdout == "12.0\n"
    assert done.stderr == ""


def test_the_first_tensor_that_moves_keeps_its_strides(start_python):
    done = start_python("""
import torch
x = torch.arange(6.).reshape(2, 3).requires_grad_()
y = x.t().to("lazy", torch.float64)
print(y.stride(), y.tolist())
y.sum().backward()
print(x.grad.tolist())
""")
    assert done.stdout == (
        "(1, 3) [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]\n"
        "[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]\n"
    )
    assert done.stderr == ""


def test_import_torch_loads_a_small_library_alone(start_python):
    done = start_python(
        LOADED
        + """
import torch
print(loaded(), torch.lazy.is_initialized())
"""
    )
    assert done.stdout == "['libltc_not_dense.so'] False\n"
    (library,) = (PACKAGE / "lib").glob(f"torch{VERSION}/libltc_not_dense.so")
    assert library.stat().st_size < 2**20


def test_compiler_is_loaded_at_the_first_compile(start_python):
    done = start_python(
        LOADED
        + """
import torch
x = torch.ones(3, device="lazy")
print("libltc_compiler.so" in loaded(), "libltc_backend.so" in loaded())
(x + 1).cpu()
print("libltc_compiler.so" in loaded())
"""
    )
    assert done.stdout == "False True\nTrue\n"


def test_switched_off_leaves_pytorch_untouched(start_python):
    done = start_python(
        LOADED
        + """
import torch
import torch._lazy.ts_backend
ours = [name for name in sys.modules if name.startswith("torch_ltc")]
print(hasattr(torch, "lazy"), ours, loaded())
torch._lazy.ts_backend.init()
print((torch.ones(2, device="lazy") + 1).tolist())
""",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "False [] []\n[2.0, 2.0]\n"


def test_importing_the_package_works_without_autoload(start_python):
    done = start_python(
        """
import torch_ltc, torch
print((torch.ones(2, device="lazy") + 1).tolist(), torch_ltc.Error.__mro__[1])
""",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "[2.0, 2.0] <class 'RuntimeError'>\n"


def test_importing_the_package_first_works(start_python):
    done = start_python("""
import torch_ltc, torch
print((torch.ones(2, device="lazy") + 1).tolist())
""")
    assert done.stdout == "[2.0, 2.0]\n"


# A program's PyTorch says that it is another than it is.
SAYS_IT_IS = """
import importlib.util, types
root = importlib.util.find_spec("torch").submodule_search_locations[0]
version = types.ModuleType("torch.version")
exec(open(root + "/version.py").read(), vars(version))
version.__version__ = "{}"
sys.modules["torch.version"] = version
import torch
"""


def test_a_pytorch_that_is_not_served_gives_one_line(start_python):
    done = start_python(
        LOADED
        + SAYS_IT_IS.format("2.99.1+cpu")
        + 'print(hasattr(torch, "lazy"), loaded(), torch.ones(2).tolist())'
    )
    assert done.stdout == "False [] [1.0, 1.0]\n"
    (line,) = done.stderr.splitlines()
    assert f"serves PyTorch {libraries.served()[0]}" in line
    assert "this is 2.99.1+cpu" in line
    assert "pip install 'torch==" in line
    assert "pip install --no-build-isolation ." in line


def test_a_patch_release_is_served(start_python):
    done = start_python(
        LOADED
        + SAYS_IT_IS.format(f"{VERSION}.9")
        + 'print(torch.__version__, (torch.ones(2, device="lazy") + 1).tolist())'
    )
    assert done.stdout == f"{VERSION}.9 [2.0, 2.0]\n"
    assert done.stderr == ""


@pytest.fixture
def copied_package(tmp_path):
    """A copy of the installed package, its libraries included."""
    site = tmp_path / "site"
    shutil.copytree(
        PACKAGE, site / "torch_ltc", ignore=shutil.ignore_patterns("__pycache__", "lib")
    )
    for folder in ("lib", f"lib/torch{VERSION}"):
        (site / "torch_ltc" / folder).mkdir()
        for library in (PACKAGE / folder).glob("*.so"):
            (site / "torch_ltc" / folder / library.name).symlink_to(library.resolve())
    info = site / "torch_ltc-0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch_ltc\nVersion: 0\n"
    )
    (info / "entry_points.txt").write_text(
        "[torch.backends]\ntorch_ltc = torch_ltc:_autoload\n"
    )
    return site


@pytest.mark.parametrize(
    "missing",
    ["torch2*/_C.*.so", "torch2*/libltc_backend.so", "torch2*/libltc_not_dense.so"],
)
def test_a_missing_library_gives_one_line(start_python, copied_package, missing):
    (path,) = (copied_package / "torch_ltc/lib").glob(missing)
    path.unlink()
    done = start_python(
        LOADED
        + """
import torch
print(hasattr(torch, "lazy"), loaded(), torch.ones(2).tolist())
""",
        PYTHONPATH=f"{copied_package}:{os.environ.get('PYTHONPATH', '')}",
    )
    assert done.stdout == "False [] [1.0, 1.0]\n"
    (line,) = done.stderr.splitlines()
    assert path.name.split(".")[0] in line and "make build" in line


def test_the_torchscript_backend_is_a_warned_no_op(start_python):
    done = start_python("""
import torch
import torch._lazy, torch._lazy.ts_backend
torch._lazy.ts_backend.init()
x = torch.ones(3, device="lazy") * 3
torch._lazy.mark_step()
print(x.tolist(), torch.lazy.metrics()["execute.launches"] > 0)
""")
    assert done.stdout == "[3.0, 3.0, 3.0] True\n"
    assert "program.py:4: UserWarning" in done.stderr
    assert "torch_ltc" in done.stderr


def test_mark_step_may_come_before_the_first_tensor(start_python):
    done = start_python("""
import torch, torch._lazy
torch._lazy.mark_step()
torch._lazy.wait_device_ops()
print(torch.ones(1, device="lazy").item())
""")
    assert done.stdout == "1.0\n"


def test_import_torch_leaves_the_environment_alone(start_python):
    done = start_python("""
import os
before = dict(os.environ)
import torch
print({name for name in os.environ if "LTC" in name or "FUNCTIONAL" in name}
      - set(before))
""")
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("first", ["arange(40)", "randn(3)"])
def test_the_first_op_makes_the_graph_that_the_second_finds(start_python, first):
    program = f"""
import torch
for _ in range(2):
    torch.{first[:-1]}, device="lazy").cpu()
assert torch.lazy.metrics()["codegen.graphs"] == 1
"""
    start_python(program)


def test_first_ops_load_no_compiler_of_pytorchs(start_python):
    done = start_python("""
import sys, torch
from torch import nn
x = torch.randn(3, 4, device="lazy")
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("lazy")
with torch.no_grad():
    y = model(x) + torch.full((2,), 3, device="lazy")
print(round(y.softmax(dim=1).sum().item(), 5))
print([name for name in ("sympy", "torch._dynamo") if name in sys.modules])
""")
    assert done.stdout == "3.0\n[]\n"
