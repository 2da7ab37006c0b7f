# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors and modules on their way to other processes, and back."""

import pytest
import torch

SHARED = """
import concurrent.futures, multiprocessing, sys
import torch
import torch.multiprocessing
from torch import nn

def kinds():
    x = torch.arange(6.0, device="lazy").view(2, 3)
    module = nn.Linear(3, 2, device="lazy")
    return [
        x, x[1:], x.t() * 2, x.bfloat16(), x > 2, x[:0], x[0, 1],
        torch.ones(2, device="lazy", requires_grad=True),
        nn.Parameter(torch.ones(2, device="lazy")),
        nn.Parameter(torch.ones(2, device="lazy"), requires_grad=False),
        module, {"in a list": [x, "and more"]}, torch.Generator("lazy"),
    ]

def look(x):
    if isinstance(x, torch.Tensor):
        return (type(x).__name__, str(x.device), str(x.dtype), x.requires_grad,
                x.tolist(), x.stride())
    if isinstance(x, nn.Module):
        return [look(p) for p in x.parameters()]
    if isinstance(x, dict):
        return look(x["in a list"][0])
    return type(x).__name__, str(x.device)

def child(x):
    return look(x), x

def check(x, answer):
    seen, back = answer
    assert seen == look(x) == look(back), (seen, look(x), look(back))

def answer(tasks, answers):
    while (x := tasks.get()) is not None:
        answers.put(child(x))

def answer_by_pipe(pipe):
    while (x := pipe.recv()) is not None:
        pipe.send(child(x))
"""

ALL_WAYS = (
    SHARED
    + """
def main(method):
    context = torch.multiprocessing.get_context(method)
    # Children that are forked come before the first lazy tensor.
    pool = context.Pool(1)
    executor = concurrent.futures.ProcessPoolExecutor(1, mp_context=context)
    executor.submit(len, "").result()
    tasks, answers = context.Queue(), context.SimpleQueue()
    here, there = context.Pipe()
    queued = context.Process(target=answer, args=(tasks, answers), daemon=True)
    piped = context.Process(target=answer_by_pipe, args=(there,), daemon=True)
    queued.start()
    piped.start()

    values = kinds()
    for x, found in zip(values, pool.map(child, values)):
        check(x, found)
    pool.close()
    pool.join()
    for x in values:
        check(x, executor.submit(child, x).result())
        tasks.put(x)
        check(x, answers.get())
        here.send(x)
        check(x, here.recv())
    tasks.put(None)
    here.send(None)
    queued.join()
    piped.join()
    executor.shutdown()
    print("done", queued.exitcode, piped.exitcode)

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else METHOD)
"""
)


SLOW = [pytest.param(m, marks=pytest.mark.slow) for m in ("spawn", "forkserver")]


@pytest.mark.parametrize("method", ["fork", *SLOW])
def test_tensors_and_modules_travel_as_in_a_pickle(run_python, method):
    done = run_python(f"METHOD = {method!r}\n" + ALL_WAYS)
    assert done.stdout == "done 0 0\n", done.stderr


def test_arguments_and_results_of_spawn(run_python):
    done = run_python(
        SHARED
        + """
def work(rank, x, module, answers):
    answers.put((rank, module(x).sum().item(), x * rank))

if __name__ == "__main__":
    x, module = torch.ones(2, 3, device="lazy"), nn.Linear(3, 2, device="lazy")
    answers = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(work, (x, module, answers), nprocs=1)
    rank, total, scaled = answers.get()
    assert abs(total - module(x).sum().item()) < 1e-5
    assert scaled.device == x.device and scaled.tolist() == (x * rank).tolist()
    print("done")
"""
    )
    assert done.stdout == "done\n", done.stderr


# A child that is forked after the parent's threads have started can use none of
# them: it says so, and nobody waits for it in vain.
FORKED = (
    SHARED
    + """
def attempt(name, function):
    try:
        print(name, "gave", function())
    except Exception as error:
        told = "forked after its parent" in str(error)
        print(name, "raised", type(error).__name__, told)

def ignore(x):
    return 7

def give(_):
    return x

def put(queue):
    queue.put(x)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return x[i]

if __name__ == "__main__":
    x = torch.arange(6.0, device="lazy").view(2, 3) + 1
    torch.lazy.synchronize()
    module = nn.Linear(3, 2, device="lazy")
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        attempt("read", lambda: pool.map(torch.sum, [x]))
        attempt("method", lambda: pool.map(torch.Tensor.tolist, [x]))
        attempt("attribute", lambda: pool.map(look, [x]))
        attempt("module", lambda: pool.map(look, [module]))
        attempt("handed back", lambda: pool.map(child, [x]))
        attempt("ignored", lambda: pool.map(ignore, [x]))
        attempt("inherited", lambda: pool.map(give, [0])[0].tolist())
        attempt("cpu", lambda: pool.map(torch.sum, [torch.ones(2)]))
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        attempt("executor", lambda: executor.submit(torch.sum, x).result())
    for kind in ("Queue", "SimpleQueue"):
        queue = getattr(context, kind)()
        process = context.Process(target=put, args=(queue,), daemon=True)
        process.start()
        attempt(kind, lambda: queue.get().tolist())
        process.join()
    loader = torch.utils.data.DataLoader(Data(), 2, num_workers=1)
    try:
        list(loader)
    except RuntimeError as error:
        print("loader", "keep the data set on the CPU" in str(error))
    loader = torch.utils.data.DataLoader(Data(), None, num_workers=1)
    attempt("no batches", lambda: [item.tolist() for item in loader])
    print("parent", x.tolist())
"""
)


def test_a_child_forked_too_late_says_so(run_python):
    done = run_python(FORKED)
    assert done.stdout.splitlines() == [
        "read raised RuntimeError True",
        "method raised RuntimeError True",
        "attribute raised RuntimeError True",
        "module raised RuntimeError True",
        "handed back raised RuntimeError True",
        "ignored gave [7]",
        "inherited raised RuntimeError True",
        "cpu gave [tensor(2.)]",
        "executor raised RuntimeError True",
        "Queue raised RuntimeError True",
        "SimpleQueue raised RuntimeError True",
        "loader True",
        "no batches raised RuntimeError True",
        "parent [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]",
    ], done.stdout + done.stderr


def test_workers_that_are_spawned_may_return_lazy_tensors(run_python):
    done = run_python(
        SHARED
        + """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.full((2,), float(i), device="lazy"), i

if __name__ == "__main__":
    for size in (2, None):
        loader = torch.utils.data.DataLoader(
            Data(), size, num_workers=1, multiprocessing_context="spawn"
        )
        for x, i in loader:
            print(x.device, x.tolist(), i if size is None else i.tolist())
"""
    )
    assert done.stdout.splitlines() == [
        *(
            f"lazy:0 {[[i, i], [i + 1.0, i + 1]]} {[int(i), int(i) + 1]}"
            for i in (0.0, 2.0)
        ),
        *(f"lazy:0 {[float(i)] * 2} {i}" for i in range(4)),
    ], done.stderr


REFUSED = {
    "tensor": lambda: torch.ones(2, device="lazy").share_memory_(),
    "parameter": lambda: torch.nn.Parameter(
        torch.ones(2, device="lazy")
    ).share_memory_(),
    "module": lambda: torch.nn.Linear(2, 2, device="lazy").share_memory(),
}


@pytest.mark.parametrize("share", REFUSED.values(), ids=REFUSED)
def test_memory_is_not_shared_with_other_processes(share):
    with pytest.raises(RuntimeError, match=r"x.cpu\(\).share_memory_\(\)"):
        share()


def reduced(value):
    import io
    from multiprocessing.reduction import ForkingPickler

    file = io.BytesIO()
    ForkingPickler(file).dump(value)
    return file.getvalue()


def test_what_eager_refuses_to_send_is_refused_in_its_words():
    def outcome(device):
        x = torch.ones(2, device=device, requires_grad=True) * 2
        with pytest.raises(RuntimeError) as found:
            reduced(x)
        return str(found.value)

    assert outcome("lazy") == outcome("cpu")
    with pytest.raises(RuntimeError, match="try pickling a lazy tensor"):
        reduced(torch.ones(2, device="lazy").untyped_storage())


def test_a_tensor_whose_graph_failed_says_so_where_it_arrives():
    import pickle

    table = torch.rand(4, 2, device="lazy")
    rows = torch.nn.functional.embedding(torch.tensor([9], device="lazy"), table)
    arrived = pickle.loads(reduced(rows))
    with pytest.raises(RuntimeError, match="embedding"):
        arrived.tolist()
    with pytest.raises(RuntimeError, match="embedding"):
        torch.cat([torch.ones(1), arrived])


def test_a_view_travels_without_the_rest_of_its_storage():
    assert len(reduced(torch.ones(100000, device="lazy")[:2])) < 5000


class Named(torch.Tensor):
    """A class of tensors that takes itself apart."""


def test_a_class_of_tensors_keeps_class_and_device():
    import pickle

    x = torch.arange(3.0, device="lazy").as_subclass(Named)
    x.note = "mine"
    back = pickle.loads(reduced(x))
    assert type(back) is Named and back.note == "mine"
    assert back.device.type == "lazy" and back.tolist() == [0, 1, 2]
