/* SPDX-License-Identifier: MIT */
/*
 * board_pq.h: the functions of libpq that board_postgres.c calls. It is loaded when a board is first opened
 * there: its twenty libraries would cost every start of the program.
 */
#ifndef RYE_BOARD_BOARD_PQ_H
#define RYE_BOARD_BOARD_PQ_H

#include "err.h"

#include <libpq-fe.h>

#define PQ_FUNCTIONS(each)        \
	each(clear);              \
	each(cmdTuples);          \
	each(connectdbParams);    \
	each(consumeInput);       \
	each(errorMessage);       \
	each(exec);               \
	each(execParams);         \
	each(finish);             \
	each(freemem);            \
	each(ftype);              \
	each(getisnull);          \
	each(getlength);          \
	each(getvalue);           \
	each(notifies);           \
	each(ntuples);            \
	each(resultErrorField);   \
	each(resultStatus);       \
	each(setNoticeProcessor); \
	each(socket);             \
	each(status);             \
	each(unescapeBytea)

struct pq_table {
#define PQ_MEMBER(name) __typeof__(PQ##name) *name
	PQ_FUNCTIONS(PQ_MEMBER);
#undef PQ_MEMBER
};

/* board_pq.c. RYE_UNSUPPORTED: it is not installed. The library stays loaded. */
int pq_load(struct pq_table *ret, struct rye_err *err);

#endif
