#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fresh.sh beside two spinning processes a processor, and beside renames.
. "$(dirname "$0")/fresh.sh"
