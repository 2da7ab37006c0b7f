# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a C++ project finds: the installed package, and the example built with it."""

import dataclasses
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import cpp_server
import pytest
import torch
from torch_ltc import autopsy
from torch_ltc.profiling import profile_data, profile_kernels

TORCH = Path(torch.__file__).parent
SONAME = "libtorch_ltc.so.0.1"


VERSION = ".".join(torch.__version__.split(".")[:2])
PKG_CONFIG = (
    "pkg-config",
    f"--define-variable=torch={TORCH}",
    f"--define-variable=torch_version={VERSION}",
)


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def succeed(*command, **environment):
    done = run(*command, **environment)
    if done.returncode:
        told = (done.stdout + done.stderr)[-3000:]
        pytest.fail(f"{command[0]} failed:\n{told}", pytrace=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def prefix(build):
    """Install there: always the same place, so that ccache knows what is compiled."""
    folder = build / "tests/cpp_package"
    shutil.rmtree(folder, ignore_errors=True)
    succeed("cmake", "--install", build, "--prefix", folder, "--component", "cpp")
    return folder


def configure(source, folder, prefixes, **variables):
    found = ";".join(str(prefix) for prefix in prefixes)
    options = [f"-D{name}={value}" for name, value in variables.items()]
    # A machine that make test set up may have no compiler but the build's.
    own = {} if shutil.which("c++") else {"CC": "clang-22", "CXX": "clang++-22"}
    command = ["cmake", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={found}"]
    return run(*command, *options, **own)


@pytest.fixture(scope="module")
def libtorch(build):
    """Lay PyTorch out as its download for C++ is, in a place that ccache knows.

    PyTorch makes that of a wheel, too: all that is C++, and no libtorch_python.
    """
    folder = build / "tests/libtorch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.joinpath("lib").mkdir(parents=True)
    for part in ("include", "share"):
        folder.joinpath(part).symlink_to(TORCH / part)
    for library in TORCH.glob("lib/*"):
        if not library.name.startswith("libtorch_python"):
            folder.joinpath("lib", library.name).symlink_to(library)
    folder.joinpath("build-version").write_text(torch.__version__ + "\n")
    return folder


@pytest.fixture
def project(tmp_path):
    """Write a project that finds the package and says which library it got."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(finds LANGUAGES C CXX)\n"
        "find_package(torch_ltc REQUIRED)\n"
        "get_target_property(library torch_ltc::torch_ltc IMPORTED_LOCATION)\n"
        'message(STATUS "library ${library}")\n'
    )
    return tmp_path


@pytest.fixture(scope="module")
def examples(root, prefix, libtorch, tmp_path_factory):
    """Build them out of tree with a folder of libtorch, and return where they are."""
    folder = tmp_path_factory.mktemp("examples")
    done = configure(
        root / "examples/cpp_embedding",
        folder,
        [prefix, libtorch],
        CMAKE_CXX_COMPILER_LAUNCHER=shutil.which("ccache") or "",
    )
    assert done.returncode == 0, done.stderr
    succeed("cmake", "--build", folder, "--parallel", "2")
    return folder


@pytest.fixture(scope="module")
def digits(root, tmp_path_factory):
    """Write the examples' data file."""
    path = tmp_path_factory.mktemp("digits") / "digits.bin"
    succeed(sys.executable, root / "examples/cpp_embedding/write_digits.py", path)
    return path


@pytest.fixture(scope="module")
def weights(examples, digits):
    """Train, and return the file with the CNN's weights."""
    path = digits.with_name("cnn.pt")
    # One thread: two wait long for each other where other tests run, too.
    settings = {"LTC_CACHE": "off", "LTC_TIERS": "auto", "OMP_NUM_THREADS": "1"}
    said = succeed(examples / "train_digits", digits, path, **settings)
    assert said.count(" 0 fallbacks") == 2, said
    assert "train_digits: ok" in said, said
    return path


def test_example_trains_as_eager_without_python(weights):
    state = torch.jit.load(weights).state_dict()
    assert {tuple(tensor.shape) for tensor in state.values()} >= {(64, 32, 3, 3)}
    assert {tensor.device.type for tensor in state.values()} == {"cpu"}


def test_example_loads_the_folders_libtorch(examples, prefix, libtorch):
    loaded = succeed("ldd", examples / "train_digits")
    assert "not found" not in loaded and "python" not in loaded, loaded
    for library in ("libtorch_cpu.so", "libc10.so"):
        assert f"{library} => {libtorch}/lib/{library}" in loaded, loaded
    assert f"{SONAME} => {prefix}/lib/torch_ltc/" in loaded, loaded


def test_second_start_compiles_nothing(examples, tmp_path):
    def run():
        said = succeed(examples / "balance_poles", tmp_path, OMP_NUM_THREADS="1")
        assert "balance_poles: ok" in said, said
        found = re.search(r"(\d+) graphs compiled, (\d+) from disk", said)
        return int(found[1]), int(found[2])

    compiled, loaded = run()
    assert compiled > 0 and loaded == 0
    assert run() == (0, compiled)


def test_profile_is_as_pythons(examples, tmp_path):
    folder = tmp_path / "profile"
    settings = {"LTC_CACHE": "off", "LTC_PROFILE": str(folder), "OMP_NUM_THREADS": "1"}
    succeed(examples / "balance_poles", **settings)
    found = json.loads((folder / "profile.json").read_text())
    assert found["format"] == "torch_ltc.profile"
    kernel = profile_kernels.Kernel("", 0, "", "", "", 0, 0, [], [], 0, 0, 0)
    value, of_result = ("", autopsy.Place("", 0, ""), 0), (0, 0)
    details = profile_kernels.Details(
        kernels=[kernel],
        results=[profile_kernels.Result(*value, *of_result)],
        at_peak=[profile_kernels.Value(*value)],
    )
    graph = profile_data.Graph("", 0, 0, 0, details=details)
    of_python = profile_data.Data(0, 0, [], [], [], [], [graph]).as_dict()
    made_by = {"format", "version", "made_by"}
    assert found.keys() == of_python.keys() | made_by
    rows = {
        "steps": profile_data.Step,
        "syncs": profile_data.Sync,
        "ledger": profile_data.Reason,
        "runs": profile_data.Run,
        "transfers": profile_kernels.Transfers,
        "memory": profile_kernels.Memory,
    }
    for name, row in rows.items():
        timed = {"time"} if name in ("steps", "syncs") else set()
        assert found[name], name
        fields = {field.name for field in dataclasses.fields(row)}
        assert found[name][0].keys() == fields | timed
    (wanted,) = of_python["graphs"]
    compiled = [each for each in found["graphs"] if each["kernels"]]
    assert compiled
    for each in compiled:
        assert each.keys() == wanted.keys() and each["text"] and each["listing"]
        for name in ("kernels", "outputs", "at_peak"):
            assert each[name][0].keys() == wanted[name][0].keys()
        timed = [kernel for kernel in each["kernels"] if kernel["timed"]]
        assert all(kernel["time"] > 0 and kernel["bytes"] > 0 for kernel in timed)
    assert any(kernel["timed"] for each in compiled for kernel in each["kernels"])
    assert all(row["activations"] > 0 for row in found["memory"])
    steps = [step for step in found["steps"] if step["whole"]]
    assert {step["cause"] for step in steps} == {"optimizer_step"}
    for step in steps:
        assert sum(step["parts"].values()) == step["time"]
    assert sum(step["launches"] for step in found["steps"]) == len(found["runs"])
    trace = json.loads((folder / "trace.json").read_text())
    phases = {row["ph"] for row in trace["traceEvents"]}
    assert phases == {"M", "X", "s", "f"}


def test_exports_the_public_header_alone(prefix):
    (library,) = prefix.glob("lib/torch_ltc/torch2.*/" + SONAME)
    listed = succeed("nm", "-D", "-C", "--defined-only", library)
    names = [line[19:] for line in listed.splitlines() if line.strip()]
    others = [name for name in names if not name.startswith("ltc::v0::")]
    assert len(names) > 20 and not others, others
    header = succeed("readelf", "-d", library)
    assert f"Library soname: [{SONAME}]" in header


def test_pkg_config_names_what_a_compiler_needs(prefix, tmp_path):
    said = succeed(
        *PKG_CONFIG,
        "--cflags",
        "--libs",
        "torch_ltc",
        PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"),
    )
    source = tmp_path / "one.cpp"
    source.write_text(
        "#include <ltc/ltc.h>\n"
        "int main() {\n"
        "  ltc::synchronize();\n"
        "  return ltc::device().is_lazy() ? 0 : 1;\n}\n"
    )
    compiler = shutil.which("c++") or "clang++-22"
    program = tmp_path / "one"
    succeed(compiler, "-std=c++20", source, *said.split(), "-o", program)
    succeed(program, LTC_CACHE="off")


def test_installs_public_headers_and_no_python(prefix):
    installed = [path for path in prefix.rglob("*") if path.is_file()]
    headers = {path.name for path in installed if path.suffix == ".h"}
    for_devices = {"linalg_text.h", "mlir_text.h", "plugin_defaults.h", "real_ops.h"}
    assert headers == {"aot.h", "ltc.h", "plugin.h", "program.h"} | for_devices
    assert not [path for path in installed if "_C." in path.name]


def test_the_conformance_suite_runs_where_it_is_installed(prefix):
    tool = prefix / "bin/ltc-conformance"
    if not tool.exists():
        pytest.skip("the build has no ltc-conformance")
    driver = prefix / "lib/torch_ltc/libltc_driver_emulator.so"
    said = succeed(tool, "--plugin", driver, "--suite", "table,memory")
    assert "PASSED" in said


def test_another_torch_stops_the_configuration(prefix, project, tmp_path):
    old = tmp_path / "old/share/cmake/Torch"
    old.mkdir(parents=True)
    (old / "TorchConfig.cmake").write_text("set(TORCH_LIBRARIES)\n")
    (old / "TorchConfigVersion.cmake").write_text(
        "set(PACKAGE_VERSION 1.13.1)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
    )
    done = configure(project, tmp_path / "build", [prefix, tmp_path / "old"])
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "serves PyTorch 2." in said and "PyTorch 1.13.1 was found in" in said


def test_the_python_package_is_found_too(build, project, tmp_path):
    said = succeed(
        sys.executable,
        "-m",
        "torch_ltc",
        "--cmake-prefix-path",
        PYTHONPATH=str(build / "python"),
    )
    done = configure(project, tmp_path / "build", [said.strip(), TORCH])
    assert done.returncode == 0, done.stderr
    (library,) = [
        line.removeprefix("-- library ")
        for line in done.stdout.splitlines()
        if line.startswith("-- library ")
    ]
    assert Path(library).name == SONAME and Path(library).exists()


@pytest.fixture
def server(examples, weights):
    program = examples / "serve_digits"
    assert program.exists(), (
        "cmake/setup.sh installs libcpp-httplib-dev, which it needs"
    )
    started = cpp_server.Server(program, weights)
    yield started
    started.kill()


def test_server_answers_as_eager_from_several_threads(server, weights, digits):
    images = cpp_server.images_of(digits)
    with torch.no_grad():
        wanted = cpp_server.eager(weights)(
            torch.from_numpy(images).float().div(16).view(-1, 1, 8, 8)
        )
    took, wrong = cpp_server.load(server, images, wanted)
    assert not wrong, wrong[:3]
    assert len(took) == cpp_server.CLIENTS * cpp_server.ASKED
    print(cpp_server.HEAD, cpp_server.row("lazy", took), sep="\n")
    with server.connect() as connection:
        status, said = cpp_server.ask(connection, None, "/metrics")
        assert status == 200 and "record.fallback" not in said
        status, said = cpp_server.ask(connection, b"too short")
        assert status == 400 and "found 9 bytes" in said


def test_server_answers_what_was_asked_before_it_ends(server, digits):
    images = cpp_server.images_of(digits)[:256].tobytes()
    with socket.create_connection(server.address, timeout=60) as asking:
        head = (
            "POST /digits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Length: {len(images)}\r\nExpect: 100-continue\r\n\r\n"
        )
        asking.sendall(head.encode())
        assert asking.recv(4096).startswith(b"HTTP/1.1 100")  # it has been asked
        server.begin_to_end()
        asking.sendall(images)
        with asking.makefile("rb") as answer:
            said = answer.read().decode()
    assert said.startswith("HTTP/1.1 200"), said[:300]
    assert len(said.split("\r\n\r\n")[1].splitlines()) == 256
    status, said = server.end()
    assert status == 0 and "serve_digits: ended" in said, said
    with pytest.raises(OSError):
        socket.create_connection(server.address, timeout=60)
