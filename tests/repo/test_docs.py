# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documents against what they speak of.

`LTC_UPDATE_DOCS=1 pytest tests/repo/test_docs.py` rewrites what is generated.
"""

import fnmatch
import os
import re

SETTING = re.compile(
    r'^LTC_SETTING\(\s*([\w:]+),\s*(\w+),\s*("[^"]*"|\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)',
    re.MULTILINE,
)
TYPES = {"std::string": "text", "int64_t": "integer", "bool": "0 or 1"}
INITIAL = {"true": "1", "false": "0", '""': "empty"}
SETTINGS_PAGE = """# Settings

Each is an environment variable, read when the library is loaded, and an
attribute of `torch_ltc.settings`. Made from `include/ltc/settings.def`.

| variable | attribute | type | initially | what it does |
|---|---|---|---|---|
{rows}
"""


def settings_rows(root):
    table = (root / "include/ltc/settings.def").read_text(encoding="utf-8")
    for kind, name, value, text in SETTING.findall(table):
        initial = INITIAL.get(value, value.strip('"'))
        meaning = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace("|", r"\|")
        cells = [f"`LTC_{name.upper()}`", f"`{name}`", TYPES[kind], initial, meaning]
        yield f"| {' | '.join(cells)} |"


def test_settings_page_is_the_table(root):
    rows = list(settings_rows(root))
    table = (root / "include/ltc/settings.def").read_text(encoding="utf-8")
    assert len(rows) == len(re.findall(r"^LTC_SETTING\(", table, re.MULTILINE))
    page = SETTINGS_PAGE.format(rows="\n".join(rows))
    path = root / "docs/settings.md"
    if os.environ.get("LTC_UPDATE_DOCS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page


def test_the_setting_without_names_every_optimization(root):
    table = (root / "include/ltc/optimizations.def").read_text(encoding="utf-8")
    names = re.findall(r"^LTC_OPTIMIZATION\((\w+)", table, re.MULTILINE)
    row = next(row for row in settings_rows(root) if "`LTC_WITHOUT`" in row)
    assert re.search(r": ([\w, ]+)\.", row)[1].split(", ") == names


RECIPE_ROW = re.compile(r'^LTC_(FACT|SCHEDULE)\((\w+), (.*), "(.*)"\)$', re.MULTILINE)
RECIPE_TABLES = {
    "facts": "| `[target]` | value | from | to | what it is |",
    "schedule": "| number | pointwise | row_reduce | column_reduce | serial "
    "| from | to | what it is |",
}


def number(text):
    """The value of `64 * 1024` or `1LL << 40`, which has no other operators."""
    base, shift = [*text.replace("LL", "").split("<<"), "0"][:2]
    product = 1
    for factor in base.split("*"):
        product *= int(factor)
    return product << int(shift)


def recipe_table(root, name):
    table = (root / f"mlir_lowering/target/{name}.def").read_text(encoding="utf-8")
    heading = RECIPE_TABLES[name]
    yield heading
    yield "|---" * (heading.count("|") - 1) + "|"
    for _, row, numbers, text in RECIPE_ROW.findall(table):
        values = [str(number(value)) for value in numbers.split(",")]
        yield f"| {' | '.join([f'`{row}`', *values, text])} |"


def test_recipes_page_has_the_tables(root):
    path = root / "docs/recipes.md"
    page = path.read_text(encoding="utf-8")
    begin = page.index("\n\n", page.index("Made from `mlir_lowering/target")) + 2
    tables = "\n\n".join("\n".join(recipe_table(root, name)) for name in RECIPE_TABLES)
    if os.environ.get("LTC_UPDATE_DOCS"):
        path.write_text(page[:begin] + tables + "\n", encoding="utf-8")
        page = path.read_text(encoding="utf-8")
    assert page[begin:] == tables + "\n"


def test_links_between_documents_lead_somewhere(root, files):
    broken = []
    for path in files:
        if path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            text = re.sub(r"(?ms)^```.*?^```|`[^`]*`", "", text)
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                outside = re.match(r"\w+:", target)
                if not outside and not (root / path.parent / target).exists():
                    broken.append(f"{path} links to {target}")
    assert not broken, "\n".join(broken)


def test_the_example_of_the_format_is_the_one_that_is_parsed(root):
    header = (root / "include/ltc/graph.h").read_text(encoding="utf-8")
    shown = re.search(r"(?ms)^//   graph \{.*?^//   \}$", header)[0]
    parsed = (root / "tests/unit/graph_test.cpp").read_text(encoding="utf-8")
    parsed = re.search(r'(?s)headerExample = R"\((.*?)\n\)"', parsed)[1]
    assert re.sub(r"(?m)^//   ", "", shown) == parsed


# Made by a build or named as an example: in no list of the tree's files.
NOT_IN_THE_TREE = re.compile(
    r"[/~$.]|(?:build|dist)/|(?:torch_ltc/)?lib/torch\d|(?:xla|jax)/bin/"
    r"|(?:train\.py|bench\.svg|program\.o|profile\.(?:html|json)|trace\.json"
    r"|stages/|repro\.py|whole\.ltc|model\.ltcpkg)$"
)


def named_paths(text, suffixes):
    """Words in backticks that have a folder, or a suffix that the tree's files have."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    for span in re.findall(r"`([^`]+)`", text):
        for word in re.findall(r"(?<![^\s=])[\w.~$/*-]+(?!\S)", span):
            if "/" in word or os.path.splitext(word)[1] in suffixes:
                yield word


def test_paths_in_the_documents_exist(root, files):
    paths = {f"/{path}" for file in files for path in (file, *file.parents)}
    suffixes = {path.suffix for path in files} - {""}
    missing = []
    for path in files:
        if path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            for word in named_paths(text, suffixes):
                found = fnmatch.filter(paths, "*/" + word.rstrip("/"))
                if not found and not NOT_IN_THE_TREE.match(word):
                    missing.append(f"{path} names {word}")
    assert not missing, "\n".join(missing)


COMMENT = re.compile(r"(?m)(?://|# )(.*)$")
FILE_NAME = re.compile(r"(?<![\w./<-])[\w/-]+\.(?:h|cpp|def|md)\b")
NOT_OUR_FILES = {"Python.h", "targets.def"}  # Python's, and one that CMake writes


def test_files_in_the_comments_exist(root, files):
    paths = {f"/{path}" for path in files}
    missing = []
    for path in files:
        if path.suffix in {".h", ".cpp", ".c", ".td", ".def", ".py", ".cmake", ".txt"}:
            comments = COMMENT.findall((root / path).read_text(encoding="utf-8"))
            named = set(FILE_NAME.findall("\n".join(comments))) - NOT_OUR_FILES
            for name in named:
                if not any(known.endswith(f"/{name}") for known in paths):
                    missing.append(f"{path} names {name}")
    assert not missing, "\n".join(sorted(missing))


def test_the_glossary_names_files_of_the_tree(root, files):
    page = (root / "docs/ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ([^|]+) \|", page[page.index("## Glossary") :])
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert names and names <= {path.stem for path in files}


def test_commands_in_the_documents_exist(root, files):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for path in files:
        if path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            named = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
            assert named <= targets, f"{path}: make {named - targets}"
