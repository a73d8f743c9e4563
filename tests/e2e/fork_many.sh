#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fork_many.sh: many threads at once, ten turns each (crowd.py). RYE_THREADS is how many: 200 by hand,
# with RYE_TEST_LIMIT=1800.
. "$(dirname "$0")/agent_lib.sh"

STEP='{"calls": [{"name": "t_step", "arguments": {}}]}'
agent_model '{"by": "turn", "lanes": {"lane_many": ['"$(printf "$STEP,%.0s" 1 2 3 4 5 6 7 8 9)"'
  {"text": ["all ", "is ", "done"], "gap": 0.05}]}}'
fx_tool "$P" t/step 'echo "a step"'
agent_directive lane_many '    <permissions><execute><tool>t.*</tool></execute></permissions>
  </metadata>' <<<'Do nine steps.'
agent_sign tool:t/step
fx_mount

ok "many threads at once" env PROJECT="$P" MOUNT="$M" PORT="$PORT" "$PY" "$E2E/crowd.py" "${RYE_THREADS:-8}"
[ "$FAILED" -gt 0 ] || sed 's/^/# /' "$T/out"

finish
