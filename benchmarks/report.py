# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes results as text: a table, what is slower than a peer, what changed."""

import math

COLUMNS = [
    "workload",
    "contender",
    "1 thread, CPU ms",
    "ratio",
    "all threads, ms",
    "ratio",
    "target",
    "of peak",
    "host ms",
    "cold s (CPU)",
    "warm CPU s",
    "peak MiB (warm)",
    "graphs",
    "kernels",
    "fallbacks",
]


def step_clocks(result):
    """Return the quantities by which a step is judged."""
    # With one thread, wall time only adds what others on the machine did.
    return ("cpu_ms", "step_ms") if result["machine"]["threads"] > 1 else ("cpu_ms",)


def number(value, digits=3):
    """Return so many significant digits, without an exponent."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(places, 0), 3)}f}"


def ratio(times):
    r = times["ratio"]
    return f"{r['median']:.2f} ({r['low']:.2f}..{r['high']:.2f})"


def share(row, machine):
    """Return the larger share of one core's limits, and which limit that is."""
    limits = machine["limits"]["1"]
    seconds = row["times"]["cpu_ms"]["median"] / 1e3
    shares = [
        (row["flops"] / 1e9 / seconds / limits["gemm_gflops"], "gemm"),
        ((row["bytes"] or 0) / 1e9 / seconds / limits["triad_gbs"], "triad"),
    ]
    value, name = max(shares)
    return f"{value:.2f} {name}" if value >= 0.005 else ""


def reached(row, result):
    """Yield (quantity, target, what was reached) for each target of the row."""
    for quantity, target in row["targets"].items():
        if quantity == "step_ms":
            for name in step_clocks(result):
                yield name, target, row["times"][name]["ratio"]["median"]
        elif quantity == "op_us":
            yield quantity, target, row["times"]["op_us"]["ratio"]["median"]
        elif quantity in ("warm_cpu_s", "graphs"):
            yield quantity, target, row["once"][quantity]
        elif quantity == "static":
            if other := find(result, row["workload"], "lazy-static"):
                # Both are ratios to eager's rounds beside them.
                ratios = [r["times"]["cpu_ms"]["ratio"]["median"] for r in (row, other)]
                yield quantity, target, ratios[0] / ratios[1]
        else:
            peer = "inductor" if quantity == "cold_s" else "eager"
            if other := find(result, row["workload"], peer):
                value = row["once"][quantity] / other["once"][quantity]
                yield quantity, target, value


def find(result, workload, contender):
    rows = result["rows"]
    wanted = (workload, contender)
    return next((r for r in rows if (r["workload"], r["contender"]) == wanted), None)


def verdict(row, result):
    """Return the step's target, and whether all of the row's are held."""
    if row["contender"] != "lazy" or not row["targets"]:
        return ""
    held = all(value <= target for _, target, value in reached(row, result))
    shown = row["targets"].get("step_ms", "")
    return f"{shown} {'held' if held else 'missed'}".strip()


def missed(result):
    """Return a line for each target that was not reached."""
    lines = [
        f"{row['workload']}, {quantity}: {value:.2f}, wanted {target}"
        for row in result["rows"]
        if row["contender"] == "lazy"
        for quantity, target, value in reached(row, result)
        if value > target
    ]
    return ["targets missed:", *lines] if lines else ["all targets held"]


def memory(once):
    warm = f" ({once['warm_peak_mib']:.0f})" if "warm_peak_mib" in once else ""
    return f"{once['peak_mib']:.0f}{warm}"


def cells(row, result):
    times, once = row["times"], row["once"]
    eager = row["contender"] == "eager"
    return [
        row["workload"],
        row["contender"],
        number(times["cpu_ms"]["median"]),
        "" if eager else ratio(times["cpu_ms"]),
        number(times["step_ms"]["median"]),
        "" if eager else ratio(times["step_ms"]),
        verdict(row, result),
        share(row, result["machine"]),
        number(times["host_ms"]["median"]),
        "" if eager else f"{number(once['cold_s'])} ({number(once['cold_cpu_s'])})",
        number(once["warm_cpu_s"]) if "warm_cpu_s" in once else "",
        memory(once),
        *(str(once.get(key, "")) for key in ("graphs", "kernels", "fallbacks")),
    ]


def all_cells(result):
    lines = [cells(row, result) for row in result["rows"]]
    lines += [
        [entry["workload"], entry["contender"], f"fails: {entry['fails'][:60]}"]
        for entry in result["failures"]
    ]
    order = list(dict.fromkeys(row["workload"] for row in result["rows"]))
    return sorted(lines, key=lambda line: order.index(line[0]))


def heading(result):
    machine = result["machine"]
    limits = [
        f"{threads} thread{'s' if threads != '1' else ''}: triad "
        f"{found['triad_gbs']:.1f} GB/s, product {found['gemm_gflops']:.0f} GFLOP/s"
        for threads, found in machine["limits"].items()
    ]
    return [
        f"{machine['cpu']} with {machine['vectors']}, {machine['threads']} threads, "
        f"torch {machine['torch']}, "
        f"{machine['revision']}, {machine['when']}, load {machine['load']}",
        "; ".join(limits),
    ]


def table(result):
    lines = [COLUMNS, *all_cells(result)]
    full = [line for line in lines if len(line) == len(COLUMNS)]
    widths = [max(len(line[i]) for line in full) for i in range(len(COLUMNS))]
    text = ["", *heading(result)]
    text += [
        "medians, quartiles in brackets; a ratio is to eager's round beside it",
        "",
    ]
    for line in lines:
        padded = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        text.append("  ".join(padded).rstrip())
    for part in (missed, behind_peers, differences):
        text += ["", *part(result)]
    return "\n".join([*text, ""])


def differences(result):
    lines = ["largest relative difference of the first outputs from eager's"]
    for entry in result["outputs"]:
        words = "" if entry["difference"] < entry["bound"] else "  WRONG"
        if not entry["comparable"]:
            words = "  other random numbers"
        lines.append(
            f"{entry['workload']:20} {entry['contender']:12}"
            f" {entry['difference']:.1e}{words}"
        )
    return lines


def behind_peers(result):
    """Return a line for each step time in which lazy is behind the best other."""
    lines = []
    for row in result["rows"]:
        if row["contender"] != "lazy":
            continue
        rows = [r for r in result["rows"] if r["workload"] == row["workload"]]
        for quantity in step_clocks(result):
            best = min(rows, key=lambda r: r["times"][quantity]["median"])
            ours = row["times"][quantity]["median"]
            times = ours / best["times"][quantity]["median"]
            if times > 1.02:
                peer = f"{times:.2f} times {best['contender']}"
                lines.append(f"{row['workload']}, {quantity}: {peer}")
    title = "slower than a peer:" if lines else "nowhere slower than a peer"
    return [title, *lines]


def comparison(old, new):
    """Return which ratios moved from `old` to `new` beyond their spread, as text."""
    before = {(row["workload"], row["contender"]): row for row in old["rows"]}
    moved, within = [], 0
    for row in new["rows"]:
        past = before.get((row["workload"], row["contender"]))
        if row["contender"] == "eager" or past is None:
            continue
        for quantity in row["times"].keys() & past["times"].keys():
            was, now = (r["times"][quantity]["ratio"] for r in (past, row))
            if was["high"] >= now["low"] and was["low"] <= now["high"]:
                within += 1
                continue
            change = now["median"] / was["median"] - 1
            moved.append(
                f"{'slower' if change > 0 else 'faster'}  {row['workload']:20}"
                f" {row['contender']:12} {quantity:8} {was['median']:6.2f} ->"
                f" {now['median']:5.2f}  {100 * change:+5.1f} %"
            )
    title = f"ratio to eager, before ({old['machine']['revision']}) and now"
    return "\n".join([title, *sorted(moved), f"{within} others within the spread", ""])
