# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is the same for every lit test; loaded by the build's lit.site.cfg.py."""

import os

import lit.formats

config.name = "torch_ltc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ltc"]
config.test_source_root = os.path.dirname(__file__)
config.environment["LTC_CACHE"] = "off"

for tool in ("ltc-opt", "ltc-run"):
    config.substitutions.append((rf"\b{tool}\b", os.path.join(config.ltc_tools, tool)))
# An unknown CHECK prefix or a variable that is never defined is a mistake.
check = f"{config.ltc_filecheck} --enable-var-scope --dump-input-filter=annotation"
config.substitutions.append((r"\bFileCheck\b", check))
