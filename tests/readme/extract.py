#!/usr/bin/env python3
"""Turns the C++ examples of Markdown files into sources.

usage: extract.py OUTPUT_FOLDER MARKDOWN_FILE...

A block that starts with ```cpp and has a main() becomes a program of its own, PAGE_N.cpp; the others are parts of a
function, and all of these of a page become one source, PAGE_parts.cpp, which is only compiled. They may use what
prelude.hpp includes, and GIVEN. Prints the names of the sources, one a line; a source is only written when it changed.
"""

import os
import re
import sys

GIVEN = ", ".join(
    f"[[maybe_unused]] {given}"
    for given in ("sluice::engine& engine", "sluice::session& digits", "sluice::value image", "caf::scoped_actor& self")
)
BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        pass
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def located(page, text, match):
    """The block with what tells the compiler where it stands."""
    line = text.count("\n", 0, match.start(1)) + 1
    return f'#line {line} "{page}"\n{match.group(1)}'


def main(arguments):
    folder, pages = arguments[0], arguments[1:]
    os.makedirs(folder, exist_ok=True)
    for page in pages:
        name = os.path.splitext(os.path.basename(page))[0].lower().replace("-", "_")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        parts = []
        for number, match in enumerate(BLOCK.finditer(text), 1):
            if "int main(" in match.group(1):
                source = f"{name}_{number}.cpp"
                write(os.path.join(folder, source), located(page, text, match))
                print(source)
            else:
                parts.append(f"void {name}_{number}({GIVEN}) {{\n{located(page, text, match)}}}\n")
        if parts:
            source = f"{name}_parts.cpp"
            write(os.path.join(folder, source), '#include "prelude.hpp"\n\n' + "".join(parts))
            print(source)


if __name__ == "__main__":
    main(sys.argv[1:])
