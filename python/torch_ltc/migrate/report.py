# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings as text, JSON, and SARIF 2.1.0 (OASIS), which code hosts show."""

import json

from torch_ltc.migrate import rules


def text(findings, files):
    """Return a line for each finding, and their counts."""
    people = sum(finding.rule.needs_person for finding in findings)
    counts = f"{len(findings)} findings in {files} files; {people} need a person"
    return "\n".join([*map(str, findings), counts])


def left(findings, changed, files, is_written):
    """Return what a rewrite leaves, a line each, and the counts."""
    done = "changed" if is_written else "to change (--write does it)"
    lines = [
        f"{finding.path}:{finding.line}:{finding.column}: stays: {finding.text}: "
        f"{finding.becomes}"
        for finding in findings
    ]
    counts = f"{changed} of {files} files {done}; {len(findings)} places stay"
    return "\n".join([*lines, counts])


def as_json(findings, files):
    """Return an object with `files`, and `findings`, an object each."""
    rows = [
        {
            "path": finding.path,
            "line": finding.line,
            "column": finding.column,
            "code": finding.rule.code,
            "rule": finding.rule.name,
            "needs_person": finding.rule.needs_person,
            "text": finding.text,
            "becomes": finding.becomes,
        }
        for finding in findings
    ]
    return json.dumps({"version": 1, "files": files, "findings": rows}, indent=2)


def sarif(findings, files):
    """Return a SARIF log with one run."""
    del files
    driver = {
        "name": "torch_ltc migrate lint",
        "rules": [
            {"id": rule.code, "name": rule.name, "shortDescription": {"text": rule.doc}}
            for rule in rules.RULES.values()
        ],
    }
    results = [
        {
            "ruleId": finding.rule.code,
            "level": "warning" if finding.rule.needs_person else "note",
            "message": {"text": f"{finding.rule.doc}: becomes {finding.becomes}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": finding.path.replace("\\", "/")},
                        "region": {
                            "startLine": finding.line,
                            "startColumn": finding.column,
                        },
                    }
                }
            ],
        }
        for finding in findings
    ]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2)


FORMATS = {"text": text, "json": as_json, "sarif": sarif}
