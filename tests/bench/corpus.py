#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""corpus.py DIR N [SHADOW_PERCENT [SEED]]: N unsigned items over three spaces below DIR.

Makes DIR/{project,user,system}/.ai/{directives,tools,knowledge}. Sizes are log-normal with a
median of 2 KB; SHADOW_PERCENT of the items repeat an id of a lower space. The same arguments
give the same bytes. scripts/bench signs them with a key of its own.
"""
import math
import os
import random
import sys

WORDS = ("tool agent state thread search index schema graph verify policy token budget registry "
         "execute context resolve anchor prompt result limit import return value").split()


def prose(rng, size, prefix=""):
    lines, total = [], 0
    while total < size:
        line = prefix + " ".join(rng.choice(WORDS) for _ in range(10)) + "."
        lines.append(line)
        total += len(line) + 1
    return "\n".join(lines) + "\n"


def directive(name, category, text):
    return (f"# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n"
            f"    <description>Measured directive</description>\n"
            f"    <category>{category}</category>\n    <author>bench</author>\n  </metadata>\n"
            f"  <inputs>\n    <input name=\"who\" type=\"string\" default=\"world\">who</input>\n"
            f"  </inputs>\n</directive>\n```\n\nGreet {{input:who}}.\n\n{text}")


def tool(name, category, text):
    return (f"\"\"\"Measured tool {name}.\"\"\"\n__version__ = \"1.0.0\"\n"
            f"__tool_type__ = \"python\"\n"
            f"__executor_id__ = \"rye/core/runtimes/python/function\"\n"
            f"__category__ = \"{category}\"\n__tool_description__ = \"Measured tool\"\n\n\n"
            f"def execute(params, project_path):\n    return {{\"success\": True}}\n\n\n{text}")


def knowledge(name, category, text):
    return (f"```yaml\nname: {name}\ntitle: Measured entry\nversion: \"1.0.0\"\n"
            f"entry_type: reference\ncategory: {category}\n```\n\n{text}")


KINDS = (("directives", ".md", directive, ""), ("tools", ".py", tool, "# "),
         ("knowledge", ".md", knowledge, ""), ("knowledge", ".md", knowledge, ""))


def write(root, space, number, rng):
    folder, extension, make, prefix = KINDS[number % 4]
    category = f"bench/cat{number // 4 % 40:02d}/sub{number // 160 % 5}"
    name = f"item_{number:06d}"
    size = min(20000, max(100, int(2048 * math.exp(0.9 * rng.gauss(0, 1)) - 500)))
    path = f"{root}/{space}/.ai/{folder}/{category}"
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/{name}{extension}", "w", encoding="utf-8") as file:
        file.write(make(name, category, prose(rng, size, prefix)))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, count = sys.argv[1], int(sys.argv[2])
    shadow = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    unique = count - count * shadow // 100
    for number in range(unique):
        place = number % 20
        write(root, "system" if place < 12 else "user" if place < 17 else "project", number, rng)
    lower = [n for n in range(unique) if n % 20 < 17]
    for number in rng.sample(lower, min(count - unique, len(lower))):
        write(root, "project", number, rng)


if __name__ == "__main__":
    main()
