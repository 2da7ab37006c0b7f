# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train on cpu and on lazy with the same seeds, and compare: `make demo`.

Runs the two example scripts as they are, each in a process of its own for each
device: epoch by epoch in turns, then the first steps in double precision. Last it
shows one compiled graph at each stage.
Ends with `demo: ok ...`, or with what failed and exit status 1.
"""

import argparse
import json
import sys
from pathlib import Path

import demo_chart
import demo_stages
from demo_runs import FIRST_STEPS, Comparison, Job, Run, relative_difference

DIGITS_MLP = Job(
    "digits MLP, SGD with momentum",
    "train_digits",
    ["--model", "mlp", "--optimizer", "sgd", "--epochs", "17"],
    least_accuracy=0.9,
)
DIGITS_CNN = Job(
    "digits CNN with BatchNorm, AdamW",
    "train_digits",
    ["--model", "cnn", "--optimizer", "adamw", "--epochs", "17"],
    least_accuracy=0.9,
)
GPT = Job(
    "GPT on the Python reference, AdamW",
    "train_text",
    ["--epochs", "10", "--sample", "160"],
    least_accuracy=0.3,
)
JOBS = [DIGITS_MLP, DIGITS_CNN, GPT]


def compare(job, device, dumps):
    """Run a job on both devices in turns; print each epoch as it ends."""
    print(
        f"\n{job.title}\n"
        f"{'epoch':>7} {'loss on cpu':>13} {'on lazy':>11} {'difference':>11}"
        f" {'ms a step':>11} {'on lazy':>9} {'graphs':>7} {'cached':>7}"
    )
    # Eager's own random numbers, so that dropout drops the same elements.
    environment = {"LTC_RNG": "eager"}
    dumping = environment | {"LTC_DUMP": str(dumps) if dumps else ""}
    with Run(job, "cpu", environment) as eager, Run(job, device, dumping) as lazy:
        while (a := eager.advance()) and (b := lazy.advance()):
            difference = relative_difference(a["losses"], b["losses"])
            print(
                f"{a['number']:7d} {a['loss']:13.6f} {b['loss']:11.6f}"
                f" {difference:11.1e} {a['step_ms']:11.2f} {b['step_ms']:9.2f}"
                f" {lazy.graphs:7d} {lazy.cached:7d}",
                flush=True,
            )
        lazy.advance()  # ends it, and raises if it ends badly
    # Only now, so that nothing else works while a step is timed.
    print(f"{'':7} the first {FIRST_STEPS} steps in double precision", flush=True)
    double = job.in_double
    with (
        Run(double, "cpu", environment) as eager_double,
        Run(double, device, environment) as lazy_double,
    ):
        for run in (eager_double, lazy_double):
            run.advance_to(FIRST_STEPS)
    return Comparison(job, eager, lazy, eager_double, lazy_double)


def print_table(comparisons):
    def row(title, *cells):
        print(f"{title:36}" + "".join(f"{cell:>10}" for cell in cells))

    print()
    row("", "loss", "in", "accuracy", "", "ms a", "step on", "lazy /")
    row("", "differs", "double", "cpu", "lazy", "cpu", "lazy", "eager")
    for c in comparisons:
        row(
            c.job.title,
            f"{c.loss_difference():.1e}",
            f"{c.loss_difference('double'):.1e}",
            f"{c.eager.accuracy:.4f}",
            f"{c.lazy.accuracy:.4f}",
            f"{c.eager.step_ms:.2f}",
            f"{c.lazy.step_ms:.2f}",
            f"{c.step_ratio:.2f}",
        )
    print()
    row("on lazy", "compiled", "cached", "fallback", "compile s")
    for c in comparisons:
        fallbacks = sum(c.fallbacks.values())
        seconds = f"{c.compile_seconds:.2f}"
        row(c.job.title, c.lazy.graphs, c.lazy.cached, fallbacks, seconds)


def print_sample(comparison):
    sample = comparison.lazy.epochs[-1]["sample"].strip()
    if sample:
        print("\nwhat the GPT on lazy writes by now")
        for line in sample.splitlines():
            print(f"  | {line}")


def picture(comparisons):
    panels = [
        demo_chart.Panel(
            title=c.job.title,
            eager=c.eager.losses,
            lazy=c.lazy.losses,
            note=f"first {FIRST_STEPS} steps agree to {c.loss_difference():.0e}; "
            f"a step takes {c.step_ratio:.2f} times eager's",
        )
        for c in comparisons
    ]
    return demo_chart.draw(panels, "Training loss, step by step")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parent.parent / "build" / "demo"
    parser.add_argument("--out", type=Path, default=default, help="folder for results")
    parser.add_argument("--device", default="lazy", help="what to compare with cpu")
    parser.add_argument("--epochs", help="as many of each job, for a quick look")
    return parser.parse_args()


def main():
    options = parse_options()
    dumps = demo_stages.fresh_directory(options.out / "graphs")
    comparisons = []
    for job in JOBS:
        if options.epochs:
            job.options += ["--epochs", options.epochs]
            job.least_accuracy = 0  # of all the epochs
        try:
            first = not comparisons
            comparisons.append(compare(job, options.device, dumps if first else None))
        except RuntimeError as error:
            sys.exit(f"demo: failed: {job.title}: {error}")

    print_sample(comparisons[-1])
    shown = demo_stages.show(dumps)
    print_table(comparisons)
    loss_svg, results = options.out / "loss.svg", options.out / "results.json"
    loss_svg.write_text(picture(comparisons))
    runs = {c.job.title: [c.eager.epochs, c.lazy.epochs] for c in comparisons}
    results.write_text(json.dumps(runs, indent=1))
    print(f"\npicture {loss_svg}\nnumbers {results}\ngraphs  {dumps}\n")

    failures = [f"{c.job.title}: {why}" for c in comparisons for why in c.failures()]
    if not shown:
        failures.append(f"LTC_DUMP left no graph in {dumps}")
    if failures:
        sys.exit("demo: failed: " + "; ".join(failures))
    print(
        f"demo: ok loss_diff={max(c.loss_difference() for c in comparisons):.1e} "
        f"in_double={max(c.loss_difference('double') for c in comparisons):.1e} "
        f"accuracy={comparisons[JOBS.index(DIGITS_CNN)].lazy.accuracy:.4f} "
        f"graphs={sum(c.lazy.graphs for c in comparisons)} fallbacks=0 "
        f"step_ratio={max(c.step_ratio for c in comparisons):.2f}"
    )


if __name__ == "__main__":
    main()
