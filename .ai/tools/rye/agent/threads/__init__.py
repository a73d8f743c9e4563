"""Marks the directory: its tools find the library of tools (rye_tool)."""

__version__ = "1.0.0"
__tool_type__ = "library"
__executor_id__ = None
__category__ = "rye/agent/threads"
__tool_description__ = "Threads in which models work through directives"
