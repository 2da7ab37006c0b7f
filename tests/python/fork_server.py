# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in processes of their own that need not import torch once more.

An import takes a second of processor time, and the suite starts hundreds of
processes. `python fork_server.py` imports torch, without its device backends, and
forks for each request a child, which loads them and runs the program as
`python PROGRAM` would. Requests and replies are lines of JSON on the standard
streams: {"program", "environment", "output", "errors", "timeout"} and
{"returncode"}, which is null for a program that took more than `timeout` seconds.
"""

import json
import os
import signal
import subprocess
import sys
import time
import types


def environment_of_import(environment):
    """Return the variables that something may read at `import torch`."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(("LTC_", "PYTEST_"))
    }


class ForkServer:
    """The client's side; for one request at a time."""

    def __init__(self):
        self.environment = environment_of_import(os.environ)
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            env=os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def serves(self, environment):
        """Whether `import torch` would do the same in this environment."""
        return environment_of_import(environment) == self.environment

    def run(self, program, environment, folder, timeout):
        """Run a program and return what `subprocess.run` would."""
        output, errors = folder / "output.txt", folder / "errors.txt"
        request = {
            "program": str(program),
            "environment": environment,
            "output": str(output),
            "errors": str(errors),
            "timeout": timeout,
        }
        print(json.dumps(request), file=self.process.stdin, flush=True)
        returncode = json.loads(self.process.stdout.readline())["returncode"]
        command, texts = [sys.executable, str(program)], []
        for path in (output, errors):
            texts.append(path.read_text(encoding="utf-8"))
            path.unlink()
        if returncode is None:
            raise subprocess.TimeoutExpired(command, timeout, *texts)
        return subprocess.CompletedProcess(command, returncode, *texts)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def wait_for(child, timeout):
    """Return what a child exits with; kill it when its time is over."""
    end, pause = time.monotonic() + timeout, 0.001
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def become(request):
    """Turn this child into what `python PROGRAM` would be after `import torch`."""
    for path, target in (
        (os.devnull, 0),
        (request["output"], 1),
        (request["errors"], 2),
    ):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, target)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    program = request["program"]
    sys.argv[:] = [program]
    sys.path[0] = os.path.dirname(program)

    def without_this_file(kind, error, traceback):
        while traceback and traceback.tb_frame.f_code.co_filename == __file__:
            traceback = traceback.tb_next
        sys.__excepthook__(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = without_this_file
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
        sys.modules["torch"]._import_device_backends()
    return program


def serve():
    """Answer requests to their end; return a child's program in the child."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return become(request)
        returncode = wait_for(child, request["timeout"])
        print(json.dumps({"returncode": returncode}), flush=True)
    return None


def run(program):
    """Run a program as the module __main__."""
    main = types.ModuleType("__main__")
    main.__file__ = program
    sys.modules["__main__"] = main
    with open(program, encoding="utf-8") as file:
        code = compile(file.read(), program, "exec")
    exec(code, vars(main))


if __name__ == "__main__":
    import torch  # noqa: F401

    if PROGRAM := serve():
        run(PROGRAM)
