"""Change lines of a text file by the ids that the read tool showed."""

from rye_files import (
    check_writable, digest, load_index, locate, new_id, read_text, reason, replace_file, show_diff,
    shown, split_lines, store_index,
)

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Replace or delete lines of a file, named by the line ids of the last read"
__requires__ = ["fs.read", "fs.write"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {
            "type": "string",
            "description": "File, relative to the project or absolute, inside it",
        },
        "changes": {
            "type": "array",
            "description": "Each names one line (line_id) or a range of lines and its new text",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "line_id": {"type": "string", "description": "The line to replace"},
                    "start_line_id": {"type": "string", "description": "First line of a range"},
                    "end_line_id": {"type": "string", "description": "Last line of a range"},
                    "new_content": {
                        "type": "string",
                        "description": "New text, any number of lines; empty deletes",
                    },
                },
                "required": ["new_content"],
            },
        },
    },
    "required": ["path", "changes"],
}

CHANGED = "File has changed since last read. Re-read the file to get updated line IDs."


def find_ranges(changes, index):
    """(first, last, new text) of every change, positions counted from 0, in file order."""
    position = {line["id"]: number for number, line in enumerate(index["lines"])}
    if len(position) != len(index["lines"]):
        raise ValueError(CHANGED)  # an index that gives two lines one id cannot be trusted
    ranges, unknown = [], []
    for change in changes:
        first = change.get("line_id") or change.get("start_line_id")
        last = change.get("line_id") or change.get("end_line_id")
        if not first or not last:
            raise ValueError("A change needs line_id, or start_line_id and end_line_id")
        missing = [lid for lid in dict.fromkeys((first, last)) if lid not in position]
        unknown += missing
        if not missing:
            ranges.append((position[first], position[last], change["new_content"]))
    if unknown:
        message = "Invalid line IDs: %s. Available IDs include: %s..."
        raise ValueError(message % (unknown, list(position)[:10]))
    ranges.sort(key=lambda one: one[:2])
    end = -1
    for first, last, _ in ranges:
        if last < first:
            raise ValueError("The end of a range lies before its start")
        if first <= end:
            raise ValueError("Two changes name the same line")
        end = last
    return ranges


def apply_changes(text, ranges):
    """The new text and the number of lines touched; the file keeps its kind of line ends."""
    lines = split_lines(text)
    closed = text.endswith("\n")
    touched = 0
    for first, last, content in reversed(ranges):
        new = split_lines(content)
        if lines[first].endswith("\r") or (first and lines[first - 1].endswith("\r")):
            new = [line.rstrip("\r") + "\r" for line in new]
        touched += max(last - first + 1, len(new))
        lines[first : last + 1] = new
    if not lines:
        return "", touched
    if not closed:
        lines[-1] = lines[-1].rstrip("\r")
    return "\n".join(lines) + ("\n" if closed else ""), touched


def keep_index(root, path, changed, index, ranges):
    """Lines that stayed keep their ids: another edit of the same answer names lines by them."""
    lines = split_lines(changed)
    ids = [line["id"] for line in index["lines"]]
    for first, last, content in reversed(ranges):
        ids[first : last + 1] = [None] * len(split_lines(content))
    used = set(ids)
    for position, line in enumerate(lines):
        if ids[position] is None:
            ids[position] = new_id(position + 1, line, used)
            used.add(ids[position])
    store_index(root, path, changed, ids, [digest(line) for line in lines])


def execute(params, project_path):
    try:
        root, path = locate(project_path, params["path"])
        check_writable(root, path)
        text = read_text(path)
        index = load_index(root, path)
        if index is None:
            raise ValueError("No line ID cache found. Read the file first to generate line IDs.")
        if index["content_hash"] != digest(text) or len(index["lines"]) != len(split_lines(text)):
            raise ValueError(CHANGED)
        ranges = find_ranges(params["changes"], index)
        changed, touched = apply_changes(text, ranges)
        replace_file(path, changed.encode("utf-8"))
        keep_index(root, path, changed, index, ranges)
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    return {
        "success": True,
        "output": show_diff(shown(root, path), text, changed),
        "changes_applied": len(params["changes"]),
        "lines_changed": touched,
    }
