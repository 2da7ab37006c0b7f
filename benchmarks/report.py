# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes results as text: one table, and what changed since an older one."""

UNITS = {
    "step_ms": "step, ms",
    "host_ms": "host, ms",
    "peak_mib": "peak, MiB",
    "op_us": "op, us",
}
# What the project promises, as a ratio to eager.
LIMITS = {"step_ms": 1.5, "peak_mib": 1.3, "op_us": 2.1}


def key(row):
    return row["workload"], row["quantity"], row["contender"]


def span(values, digits):
    return (
        f"{values['median']:.{digits}f}"
        f" ({values['low']:.{digits}f}..{values['high']:.{digits}f})"
    )


def table(result):
    machine = result["machine"]
    lines = [
        "",
        f"{machine['cpu']}, {machine['threads']} threads, torch {machine['torch']}, "
        f"{machine['revision']}",
        "medians, quartiles in brackets; a ratio is to eager's round beside it",
        "",
        f"{'workload':12} {'quantity':10} {'contender':10} {'value':>26}"
        f" {'ratio to eager':>20}  limit",
    ]
    for row in result["rows"]:
        limit = LIMITS.get(row["quantity"])
        verdict = ""
        if row["contender"] != "eager" and limit:
            held = row["ratio"]["median"] <= limit
            verdict = f"<= {limit}" if held else f"<= {limit}, missed"
        ratio = "" if row["contender"] == "eager" else span(row["ratio"], 2)
        lines.append(
            f"{row['workload']:12} {UNITS[row['quantity']]:10} {row['contender']:10}"
            f" {span(row, 2):>26} {ratio:>20}  {verdict}".rstrip()
        )
    lines += ["", "largest relative difference of the first outputs from eager's"]
    for entry in result["outputs"]:
        held = entry["difference"] < entry["bound"]
        lines.append(
            f"{entry['workload']:12} {entry['contender']:10} {entry['difference']:.1e}"
            f"{'' if held else '  WRONG'}"
        )
    return "\n".join([*lines, ""])


def comparison(old, new):
    """Return how each ratio moved from `old` to `new`, as text."""
    before = {key(row): row for row in old["rows"]}
    lines = [f"ratio to eager, before ({old['machine']['revision']}) and now"]
    for row in new["rows"]:
        past = before.get(key(row))
        if row["contender"] == "eager" or past is None:
            continue
        was, now = past["ratio"]["median"], row["ratio"]["median"]
        apart = (
            past["ratio"]["high"] < row["ratio"]["low"]
            or past["ratio"]["low"] > row["ratio"]["high"]
        )
        lines.append(
            f"{row['workload']:12} {UNITS[row['quantity']]:10} {row['contender']:10}"
            f" {was:6.2f} -> {now:5.2f}  {100 * (now / was - 1):+5.1f} %"
            f"{'' if apart else '  (within the spread)'}"
        )
    return "\n".join([*lines, ""])
