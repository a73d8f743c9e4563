my/hello
other/Good day
"""Greet somebody by name.

The constants below are the tool's metadata. They are read, not run, so each is a literal: a text, a
number, a list, a dictionary, None, True or False.
"""

__version__ = "1.0.0"
__tool_type__ = "python"
# What runs it: with ".../function" the function execute() below; with ".../script" the whole file as
# a program, which reads its parameters as JSON from standard input.
__executor_id__ = "rye/core/runtimes/python/function"
# The directory below .ai/tools that this file lies in.
__category__ = "my"
# What people and models choose it by.
__tool_description__ = "Greet somebody by name"
# All that it may do. Others are "fs.write" (files of the project), "net.*", "shell.execute" and
# "rye.execute.tool.NAME". Without "fs.write" the project is read-only, without "net.*" there is no network.
__requires__ = ["fs.read"]

# JSON