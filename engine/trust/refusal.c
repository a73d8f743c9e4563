/* SPDX-License-Identifier: MIT */
/*
 * Refusal texts. Other programs read the first lines, people the last one: both stay whole
 * whatever the path's length is. No state.
 */
#include "trust/trust_inner.h"

#include "base/id.h"
#include "base/self.h"
#include "bounds.h"
#include "buf.h"
#include "str.h"
#include "trust/trust.h"

#include <stdio.h>

/* Of details; an id comes on top in the fix, and what is left is the path's. */
#define PART_MAX 420
/* A path is cut at its front, but never below this. */
#define PATH_MIN 60

/* The last `max` bytes of path, from a character's start on. */
static const char *path_tail(const char *path, size_t max)
{
	size_t n = strlen(path);

	if (n <= max)
		return path;
	path += n - max;
	while (((unsigned char)*path & 0xc0) == 0x80)
		path++;
	return path;
}

/*
 * "<first><path>\\n  Kind: <kind>\\n<details>  mend with: <fix>"; details: whole lines or "". The
 * path is cut at its front before the fix would be lost. fix NULL: "ryefs sign <kind>:<id>",
 * in its space; of a manifest, whose files have to be looked at, "ryefs skill add <id>".
 */
struct refusal {
	enum rye_code code;
	const char *first; /* "Unsigned item: " */
	const char *details;
	const char *fix;
};

static int refuse(const struct verify_ask *ask, const struct refusal *what, struct rye_err *err)
{
	auto_buf struct rye_buf command = RYE_BUF_INIT;
	char ref[RYE_ID_MAX + 32];
	const char *fix = what->fix;
	bool manifest = rye_kind_has(ask->kind, RYE_KIND_MANIFEST);
	size_t used, room;
	const char *tail;

	if (!fix && ask->bundled) {
		fix = "reinstall the bundle";
	} else if (!fix) {
		snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(ask->kind), ask->id);
		buf_addf(&command, "ryefs %s %s", manifest ? "skill add" : "sign",
			 ask->users ? "--space user " : "");
		buf_shell(&command, manifest ? ask->id : ref);
		fix = command.failed ? "ryefs sign" : command.data;
	}
	used = strlen(what->first) + strlen(what->details) + strlen(fix) + 64;
	room = used + PATH_MIN < sizeof(err->msg) ? sizeof(err->msg) - used : PATH_MIN;
	tail = path_tail(ask->path, room);
	return rye_fail(err, what->code, "%s%s%s\n  Kind: %s\n%s  " MEND_WITH "%s", what->first,
			tail == ask->path ? "" : "…", tail, rye_kind_name(ask->kind), what->details,
			fix);
}

int refuse_unsigned(const struct verify_ask *ask, struct rye_err *err)
{
	return refuse(ask,
		      &(struct refusal){ RYE_UNSIGNED, "Unsigned item: ",
					 "  Expected: rye:signed: header\n", NULL },
		      err);
}

int refuse_line(const struct verify_ask *ask, const struct verdict *v, struct rye_err *err)
{
	char details[PART_MAX];

	snprintf(details, sizeof(details),
		 "  Signed by: %s\n  Expected: nothing behind the signature\n", v->fingerprint);
	return refuse(
		ask, &(struct refusal){ RYE_BAD_LINE, "Malformed signature line: ", details, NULL },
		err);
}

int refuse_modified(const struct verify_ask *ask, const struct verdict *v, struct rye_span wanted,
		    struct rye_err *err)
{
	char details[PART_MAX];

	snprintf(details, sizeof(details),
		 "  Signed by: %s\n  Expected hash: %.16s…\n  Actual hash: %.16s…\n",
		 v->fingerprint, wanted.ptr, v->hash);
	return refuse(ask,
		      &(struct refusal){ RYE_MODIFIED, "Content modified since signing: ", details,
					 NULL },
		      err);
}

/* Of a key that came with the project, say: its fingerprint is enough to trust it. */
static bool trust_has_file(const struct trust *trust, const char *fp)
{
	for (size_t i = 0; i < trust->n_keys; i++)
		if (!strcmp(trust->keys[i].fp, fp))
			return true;
	return false;
}

/* Whether it is trusted is not known. */
static int refuse_unread(const struct verify_ask *ask, const struct verdict *v, const char *dir,
			 struct rye_err *err)
{
	char first[64], details[PART_MAX], *fix;
	struct rye_err may = { 0 };

	snprintf(first, sizeof(first), "Untrusted key %s for ", v->fingerprint);
	snprintf(details, sizeof(details),
		 "  Item signed by: %s\n  Its key file may be in %s: Permission denied\n",
		 v->fingerprint, path_tail(dir, PART_MAX / 2));
	self_may(dir, false, &may);
	fix = strstr(may.msg, MEND_WITH);
	return refuse(ask,
		      &(struct refusal){ RYE_UNTRUSTED, first, details,
					 fix ? fix + strlen(MEND_WITH) : "ryefs doctor" },
		      err);
}

int refuse_untrusted(const struct verify_ask *ask, const struct verdict *v,
		     const struct trust *trust, struct rye_err *err)
{
	char first[64], details[PART_MAX], fix[64], names[200];
	bool here = trust_has_file(trust, v->fingerprint);

	if (trust->unread)
		return refuse_unread(ask, v, trust->unread, err);
	trust_names(trust, names, sizeof(names));
	snprintf(first, sizeof(first), "Untrusted key %s for ", v->fingerprint);
	snprintf(details, sizeof(details), "  Item signed by: %s\n  Trusted keys: %s\n%s",
		 v->fingerprint, names,
		 here ? "" : "  Its key file is not here: ask the signer for it\n");
	snprintf(fix, sizeof(fix), "ryefs trust %s%s", v->fingerprint, here ? "" : ".toml");
	return refuse(ask, &(struct refusal){ RYE_UNTRUSTED, first, details, fix }, err);
}

int refuse_scope(const struct verify_ask *ask, const struct verdict *v, const struct trust_key *key,
		 struct rye_err *err)
{
	char first[64], details[PART_MAX];

	snprintf(first, sizeof(first), "Untrusted key %s for ", v->fingerprint);
	snprintf(details, sizeof(details), "  Item signed by: %s (%s)\n  Trusted only for: %s%s\n",
		 v->fingerprint, v->owner, key->scope[0], key->n_scope > 1 ? ", …" : "");
	return refuse(ask, &(struct refusal){ RYE_UNTRUSTED, first, details, NULL }, err);
}

int refuse_signature(const struct verify_ask *ask, const struct verdict *v, struct rye_err *err)
{
	char details[PART_MAX];

	snprintf(details, sizeof(details),
		 "  Signed by: %s (%s)\n  This may indicate the file was tampered with after "
		 "signing\n",
		 v->fingerprint, v->owner);
	return refuse(ask,
		      &(struct refusal){ RYE_BAD_SIGNATURE,
					 "Ed25519 signature verification failed: ", details, NULL },
		      err);
}

int refuse_uncovered(const struct verify_ask *ask, const struct verdict *v, bool changed,
		     const char *what, struct rye_err *err)
{
	char details[PART_MAX];

	snprintf(details, sizeof(details),
		 "  Signed by: %s (%s)\n  %s: %s\n  Accept what its signature leaves open: "
		 "--compat, of a mount -o coverage=compat\n",
		 v->fingerprint, v->owner, changed ? "Found" : "Not covered", what);
	return refuse(ask,
		      &(struct refusal){ RYE_UNCOVERED,
					 changed ? "Changed, moved or renamed since signing: " :
						   "Not covered by its signature: ",
					 details, NULL },
		      err);
}

int refuse_moved(const struct verify_ask *ask, const struct verdict *v, const char *where,
		 struct rye_err *err)
{
	char details[PART_MAX];

	snprintf(details, sizeof(details), "  Signed by: %s (%s)\n  Signed for: %s\n",
		 v->fingerprint, v->owner, where);
	return refuse(ask,
		      &(struct refusal){ RYE_MOVED, "Item moved since signing: ", details, NULL },
		      err);
}
