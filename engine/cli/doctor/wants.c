/* SPDX-License-Identifier: MIT */
/*
 * What keeps a refused item from being signed: "sign it" would be the wrong advice then. Asks the signing
 * itself, which writes nothing. No state.
 */
#include "cli/doctor/doctor.h"

#include <string.h>

bool is_bundled(const struct rye_verdict *verdict)
{
	return verdict->space && !strncmp(verdict->space, "system", strlen("system"));
}

/* Signing would mend it, if what is in it could be signed. */
static bool is_mended_by_signing(const struct rye_verdict *verdict)
{
	bool config = verdict->kind == RYE_CONFIG && verdict->code == RYE_OK;

	/* of a manifest its files have to be looked at, and the refusal says how */
	if (rye_kind_has(verdict->kind, RYE_KIND_MANIFEST))
		return false;
	return !verdict->unread && (config || rye_code_integrity(verdict->code)) &&
	       verdict->code != RYE_UNTRUSTED && !is_bundled(verdict);
}

static int wants_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct rye_buf *wants = arg;

	(void)done;
	(void)total;
	if (verdict && verdict->code != RYE_OK && verdict->message)
		buf_adds(wants, verdict->message);
	return 0;
}

char *wants_mend(struct cli *cli, const struct rye_verdict *verdict, struct rye_buf *ret)
{
	bool users = verdict->space && !strncmp(verdict->space, "user", strlen("user"));
	char ref[REF_MAX];
	const struct rye_batch batch = { .pattern = ref,
					 .space = users ? RYE_USER : RYE_PROJECT,
					 .fn = wants_take,
					 .arg = ret,
					 .dry = true };

	if (!is_mended_by_signing(verdict))
		return NULL;
	ref_of(verdict, ref);
	rye_sign_all(cli->rye, &batch, NULL);
	if (!ret->len)
		return NULL;
	return mend_edit(cli, &(struct signed_file){ ref, verdict->path }, verdict->space);
}
