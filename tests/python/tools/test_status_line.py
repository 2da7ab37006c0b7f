# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LTC_STATUS=1: a live line in a terminal, under tqdm and in a log file."""

import fcntl
import inspect
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time

from torch_ltc import status_line
from torch_ltc.status_line import Counts, describe

SCRIPT = inspect.cleandoc("""
    import os, sys, threading, time, torch
    from torch_ltc import status_line
    status_line._FIRST = 0.2
    status_line._LIVE = status_line._BESIDE_BARS = 0.1
    weight = torch.ones(4, device="lazy", requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    def step():
        loss = weight.square().sum()
        loss.backward()
        optimizer.step()
        loss.item()
        time.sleep(0.01)
    step()
    {loop}
        step()
        {body}
""")
PLAIN = "for number in range(120):"
LINE = (
    r"torch_ltc: step \d+, [\d.]+ ms each, (host|device)-bound \(busy \d+ %\), "
    r"[\d.]+ syncs? a step, \d+ graphs? compiled"
)


def test_the_line_says_what_was_done_between():
    before = Counts(10, 100, 5.0, 20, 3)
    assert describe(before, Counts(12, 300, 6.9, 220, 4)) == (
        "step 300, 10 ms each, device-bound (busy 95 %), 1 sync a step, "
        "4 graphs compiled"
    )
    assert describe(before, Counts(12, 104, 5.1, 22, 3)) == (
        "step 104, 500 ms each, host-bound (busy 5 %), 0.5 syncs a step, "
        "3 graphs compiled"
    )
    assert describe(before, Counts(12, 100, 5.1, 22, 3)) == ""


def run_in_terminal(script):
    """Run a program in a terminal of its own; return what the terminal was sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 120, 0, 0))
    environment = os.environ | {"LTC_STATUS": "1", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    sent = io.BytesIO()

    def read():
        try:
            while part := os.read(ours, 4096):
                sent.write(part)
        except OSError:  # the terminal is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    assert process.wait(timeout=120) == 0
    reader.join()
    os.close(ours)
    return sent.getvalue().decode()


def screen(sent):
    """Return the lines that a terminal shows: of ours, what was not erased."""
    lines = [""]
    for part in re.split(r"(\r\n|\r|\x1b\[2K|\n)", sent):
        if part in ("\r\n", "\n"):
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part not in ("\r", ""):
            lines[-1] = part + lines[-1][len(part) :]
    return lines


def test_in_a_terminal_it_is_live_and_makes_way_for_prints():
    body = "print('loss', 1.5) if number > 60 else None"
    sent = run_in_terminal(SCRIPT.format(loop=PLAIN, body=body))
    # It is as long as the terminal is wide, at most.
    assert sent.count("torch_ltc: step") >= 3
    lines = [line for line in screen(sent) if line]
    assert set(lines[:-1]) == {"loss 1.5"}, lines
    assert re.fullmatch(LINE + ", in all", lines[-1])


def in_file_every(seconds, script):
    name = "status_line._FIRST"
    return script.replace(name, f"status_line._IN_FILE = {seconds}\n{name}", 1)


def test_in_a_file_it_is_a_line_now_and_then():
    script = in_file_every(0.3, SCRIPT.format(loop=PLAIN, body=""))
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LTC_STATUS": "1"},
    )
    lines = done.stderr.splitlines()
    assert 2 <= len(lines) <= 2 + (time.monotonic() - start) / 0.3
    assert all(re.fullmatch(LINE + "(, in all)?", line) for line in lines), lines
    assert "\x1b" not in done.stderr
    assert not done.stdout


def test_beside_bars_of_tqdm_lines_stand_above_them():
    script = SCRIPT.format(
        loop="from tqdm import tqdm\nfor _ in tqdm(range(100)):", body=""
    )
    # tqdm erases its bars with blanks.
    lines = [line.rstrip() for line in screen(run_in_terminal(script)) if line]
    assert any(re.fullmatch(LINE, line) for line in lines), lines
    bars = [line for line in lines if "/100" in line]
    assert bars
    assert not any("torch_ltc" in line for line in bars), bars


def test_a_child_may_print_whatever_the_parents_thread_does():
    body = inspect.cleandoc("""
        if number == 60:
            lock = status_line._reporter.terminal._lock
            held, go = threading.Event(), threading.Event()
            def hold():
                with lock:
                    held.set()
                    go.wait()
            threading.Thread(target=hold).start()
            held.wait()
            if not (child := os.fork()):
                print("from the child")
                os._exit(0)
            code = os.waitpid(child, 0)[1]
            go.set()
            print("it ended with", code)
    """)
    body = body.replace("\n", "\n    ")
    sent = run_in_terminal(SCRIPT.format(loop=PLAIN, body=body))
    assert {"from the child", "it ended with 0"} <= set(screen(sent))


def test_a_closed_stream_ends_the_line(run_python):
    body = inspect.cleandoc("""
        if number == 20:
            threading.excepthook = lambda what: print("a thread died of", what)
            sys.stderr.close()
        if number == 119:
            print("thread is there:", status_line._reporter.is_alive())
    """)
    body = body.replace("\n", "\n    ")
    code = SCRIPT.format(loop=PLAIN, body=body)
    code = in_file_every(0.1, code)
    assert run_python(code, LTC_STATUS="1").stdout == "thread is there: False\n"
    sent = run_in_terminal(SCRIPT.format(loop=PLAIN, body=body))
    assert "thread is there: False" in sent
    assert "died" not in sent


BUSY = """
import time, torch
from torch_ltc import status_line

x = torch.ones(64, 64, device="lazy")
def run(count):
    for _ in range(count):
        y = (x @ x).exp()
        torch.lazy.mark_step()
    torch.lazy.synchronize()

run(2)
before = status_line.counts()
run(10)
now = status_line.counts()
print((now.busy - before.busy) / (now.time - before.time), now.compiles)
"""


def test_a_device_behind_a_queue_is_busy_while_it_works(run_python):
    options = {"LTC_DEVICE": "emulator", "LTC_DEVICE_OPTIONS": "delay_us=30000"}
    busy, _ = map(float, run_python(BUSY, **options).stdout.split())
    assert 0.5 < busy <= 1.1


def test_a_graph_without_a_program_is_work_of_the_device(run_python):
    busy, compiles = map(float, run_python(BUSY, LTC_TIERS="auto").stdout.split())
    assert busy > 0 and compiles == 0


def test_only_the_first_process_of_several_shows_it(run_python):
    code = SCRIPT.format(loop=PLAIN, body="")
    assert "torch_ltc:" not in run_python(code, LTC_STATUS="1", RANK="1").stderr


def test_the_setting_turns_it_on_and_off(run_python):
    code = inspect.cleandoc("""
        import threading, torch_ltc
        def is_there():
            return any(t.name == "torch_ltc status" for t in threading.enumerate())
        assert not is_there()
        torch_ltc.settings.status = True
        assert is_there()
        torch_ltc.settings.status = False
        assert not is_there()
    """)
    run_python(code)


def test_a_stream_that_is_no_terminal_is_left_alone():
    assert not status_line._is_terminal(io.StringIO())
