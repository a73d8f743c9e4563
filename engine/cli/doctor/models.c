/* SPDX-License-Identifier: MIT */
/*
 * doctor's view of the models: would a directive's fork find one? In the words in which it would
 * fail. A server that is no vendor's is asked whether it listens, for a second; whether a key is good
 * is not looked at.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"

void models_check(struct findings *findings)
{
	char model[RYE_MODEL_MAX];
	auto_free char *what = NULL, *mend = NULL;
	struct rye_err err = { 0 };

	if (!rye_model(findings->cli->rye, model, &err)) {
		finding_add(findings, FINDING_OK, "model", NULL, "%s", model);
		return;
	}
	mend = told_split(err.msg, &what);
	finding_add(findings, FINDING_REMARK, "model",
		    mend ? mend : "ryefs edit config:agent/agent",
		    "no directive can be given to a model: %s", what ? what : err.msg);
}
