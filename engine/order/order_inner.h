/* SPDX-License-Identifier: MIT */
/*
 * order_inner.h: what the files of order/ share.
 */
#ifndef RYE_ORDER_ORDER_INNER_H
#define RYE_ORDER_ORDER_INNER_H

#include "order/order.h"

/*
 * members.c: a document of known members. It has each of them and no other, so that nothing is signed
 * that is not read.
 */
enum member_form {
	MEMBER_TEXT, /* char[size] in the struct, without control characters */
	MEMBER_SHA, /* 64 hexadecimal digits, or "" */
	MEMBER_FP, /* 16 of them */
	MEMBER_UUID,
	MEMBER_NAME, /* id_is_name */
	MEMBER_INT, /* int64_t, 0 or more */
	MEMBER_REAL, /* double, 0 or more */
	MEMBER_BOOL,
	MEMBER_OBJECT, /* const json_t *; NULL of the struct is the empty one */
	MEMBER_LISTS, /* of lists of texts */
	MEMBER_NAMES, /* list of names, at most ORDER_SECRETS_MAX */
	MEMBER_TEXTS, /* list of texts */
};

struct member {
	const char *name;
	enum member_form form;
	size_t at, size; /* in the struct */
};
#define MEMBER(type, member, form)                                                               \
	{                                                                                        \
#member, form, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
	}

struct members {
	const char *what; /* "order", for messages */
	const struct member *rows;
	size_t n;
};

/* A new document of what the struct says, and the other way, checked. RYE_INVALID names the member. */
int members_put(const struct members *members, const void *from, json_t **ret, struct rye_err *err);
int members_get(const struct members *members, const json_t *doc, void *ret, struct rye_err *err);

/* "WORD\n" and the canonical form: what is signed. sha: NULL, or the digest of the latter alone. */
int members_signed(const char *word, const json_t *doc, struct rye_buf *ret, char *sha,
		   struct rye_err *err);
/* An envelope's text: an object of the document, which names[0] is, and texts, of which none has another
 * name; NULL at the end. What is lacking the caller finds. */
int members_envelope(struct rye_span text, const char *const *names, json_t **ret,
		     struct rye_err *err);

#endif
