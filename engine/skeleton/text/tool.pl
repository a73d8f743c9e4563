#!/usr/bin/env -S perl -w
# Greet somebody by name.
#
# These first comment lines are the tool's metadata, "key: value" as in YAML. Prose is passed over. The
# first line says what runs it. Ruby, awk and Tcl tools are written alike.
#
# version: "1.0.0"
# tool_type: script
# executor_id: rye/core/runtimes/script/script
#
# The directory below .ai/tools that this file lies in.
# category: "@CATEGORY@"
#
# What people and models choose it by.
# description: Greet somebody by name
#
# All that it may do. Others are fs.write (files of the project), net.* and shell.execute.
# requires: [fs.read]
#
# The parameters, each with what JSON Schema knows. They are checked before the call.
# parameters:
#   - {name: name, type: string, required: true, minLength: 1, description: Whom to greet}
#   - {name: loud, type: boolean, default: false, description: In capitals}

use strict;
use JSON::PP;

# Parameters come as one JSON object on standard input.
my $params = decode_json(join '', <STDIN>);
my $greeting = "Hello, $params->{name}!";
$greeting = uc $greeting if $params->{loud};
# "output" is shown to people. A run that fails prints {"success": false, "error": "what was wanted"}.
print encode_json({success => JSON::PP::true, output => $greeting});
