"""Read a text file with stable line ids."""

import difflib
import re

from rye_files import (
    digest, load_index, locate, new_id, read_text, reason, split_lines, store_index,
)

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Read a text file; every line comes with a stable id for edit_lines"
__requires__ = ["fs.read", "fs.write"]  # writing: the line index in .ai/cache

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {
            "type": "string",
            "description": "File, relative to the project or absolute, inside it",
        },
        "offset": {
            "type": "integer",
            "description": "First line to show, counted from 1",
            "default": 1,
            "minimum": 1,
        },
        "limit": {
            "type": "integer",
            "description": "Number of lines to show",
            "default": 2000,
            "minimum": 1,
        },
    },
    "required": ["path"],
}

HEADER = "# LINE:LID│ content — LIDs are stable references for edit_lines, not file content"
OUTPUT_LIMIT = 51200  # characters of one result; a model's context is the bottleneck
MATCH_WORK = 500000  # pairs of equal lines looked at when a changed file is matched with its index


def common_blocks(old, new):
    """Blocks (old start, new start, length) of lines that stayed, in order."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    blocks = [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    counts = {}
    for line in middle_old:
        counts[line] = counts.get(line, 0) + 1
    if sum(counts.get(line, 0) for line in middle_new) <= MATCH_WORK:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        blocks += [(a + head, b + head, size) for a, b, size in matcher.get_matching_blocks()]
    return blocks


def assign_ids(lines, index):
    """An id for every line: the one it had in the index, or a new one."""
    hashes = [digest(line) for line in lines]
    ids = [None] * len(lines)
    used = set()
    if index:
        known = index["lines"]
        for a, b, size in common_blocks([line["content_hash"] for line in known], hashes):
            for step in range(size):
                old = known[a + step]["id"]
                if old not in used and re.fullmatch("[0-9a-f]{6}", old):
                    ids[b + step] = old
                    used.add(old)
    for position, line in enumerate(lines):
        if ids[position] is None:
            ids[position] = new_id(position + 1, line, used)
            used.add(ids[position])
    return ids, hashes


def execute(params, project_path):
    try:
        root, path = locate(project_path, params["path"])
        text = read_text(path)
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    lines = split_lines(text)
    index = load_index(root, path)
    ids, hashes = assign_ids(lines, index)
    kept = index and index["content_hash"] == digest(text)
    if not kept or ids != [line["id"] for line in index["lines"]]:
        store_index(root, path, text, ids, hashes)
    offset, limit = params.get("offset", 1), params.get("limit", 2000)
    part = range(offset - 1, min(offset - 1 + limit, len(lines)))
    rows = [HEADER] + ["%d:%s│ %s" % (n + 1, ids[n], lines[n]) for n in part]
    output = "\n".join(rows)
    return {
        "success": True,
        "output": output[:OUTPUT_LIMIT],
        "line_count": output[:OUTPUT_LIMIT].count("\n"),
        "total_lines": len(lines),
        "truncated": len(output) > OUTPUT_LIMIT or offset - 1 + limit < len(lines),
        "offset": offset,
    }
