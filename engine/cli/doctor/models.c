/* SPDX-License-Identifier: MIT */
/*
 * doctor's view of the models: would a directive's fork find one? In the words in which it would
 * fail. A server that is no vendor's is asked whether it listens, for a second; whether a key is good
 * is not looked at.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"
#include "str.h"

#include <string.h>

void models_check(struct findings *findings)
{
	char model[RYE_MODEL_MAX];
	struct rye_err err = { 0 };
	const char *mend;
	struct rye_span what;

	if (!rye_model(findings->cli->rye, model, &err)) {
		finding_add(findings, FINDING(OK, "model", NULL), "%s", model);
		return;
	}
	mend = strstr(err.msg, MEND_WITH);
	what = (struct rye_span){ err.msg, mend ? (size_t)(mend - err.msg) : strlen(err.msg) };
	what = span_trim(what);
	what.len -= span_ends(what, ";");
	finding_add(findings,
		    FINDING(REMARK, "model", mend ? mend + strlen(MEND_WITH) : "ryefs doctor"),
		    "no directive can be given to a model: %.*s", (int)what.len, what.ptr);
}
