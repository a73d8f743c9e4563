#!/bin/bash
# Greet somebody by name.
#
# These first comment lines are the tool's metadata, "key: value" as in YAML. Prose is passed over.
#
# version: "1.0.0"
# tool_type: bash
#
# What runs it. With rye/core/runtimes/script/script it is the program of the first line.
# executor_id: rye/core/runtimes/bash/bash
#
# The directory below .ai/tools that this file lies in.
# category: "@CATEGORY@"
#
# What people and models choose it by.
# description: Greet somebody by name
#
# All that it may do. Others are fs.write (files of the project) and net.* (the network).
# requires: [fs.read, shell.execute]
#
# The parameters, each with what JSON Schema knows. They are checked before the call.
# parameters:
#   - {name: name, type: string, required: true, minLength: 1, description: Whom to greet}
#   - {name: loud, type: boolean, default: false, description: In capitals}

set -eu

# Parameters come as one JSON object on standard input. Never paste one into a command: it is data.
params=$(cat)
param() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$params" "$1"; }

greeting="Hello, $(param name)!"
if [ "$(param loud)" = True ]; then
  greeting=${greeting^^}
fi
# What is printed is the output; a status other than 0 is a run that has failed, and standard error says why.
printf '%s\n' "$greeting"
