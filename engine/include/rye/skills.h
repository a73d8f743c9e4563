/* SPDX-License-Identifier: MIT */
/*
 * skills.h: fifth part of rye.h (included by write.h): Agent Skills as clients of them look for them.
 * Same conventions. A name of the view is one folder; what is in it is what a verified manifest lists.
 */
#ifndef RYE_SKILLS_H
#define RYE_SKILLS_H

#include <rye/rye.h>

/* One folder of the view. A refused one is found all the same: `verdict` says so. */
struct rye_skill {
	enum rye_kind kind;
	char id[1024]; /* of the item */
	enum rye_code verdict;
	uint64_t version; /* changes whenever what is in it does */
	struct timespec mtime;
	char reason[256]; /* of a refusal, one line, with the command that mends it */
};

RYE_API int rye_skill_find(struct rye *rye, const char *name, struct rye_skill *ret,
			   struct rye_err *err);

/* Every name, in no order; one that is told twice is the same. Nonzero stops. */
typedef int (*rye_skill_fn)(void *arg, const char *name, bool refused);
RYE_API int rye_skill_list(struct rye *rye, rye_skill_fn fn, void *arg, struct rye_err *err);

/* A file or directory of a folder; its bytes are read once, and are those that the manifest says. */
struct rye_skill_file {
	bool is_dir;
	bool x; /* may be executed */
	uint64_t version;
	struct rye_text *text; /* of a file that was wanted: the caller's */
};
/* path: below the folder, "" is itself. RYE_MODIFIED: by now the skill is refused. */
RYE_API int rye_skill_read(struct rye *rye, const struct rye_skill *skill, const char *path,
			   struct rye_skill_file *ret, struct rye_err *err);
/* The names in a directory of it, in no order; one may be told more than once. */
typedef void (*rye_skill_name_fn)(void *arg, const char *name, bool is_dir);
RYE_API int rye_skill_names(struct rye *rye, const struct rye_skill *skill, const char *dir,
			    rye_skill_name_fn fn, void *arg, struct rye_err *err);

/* The signed text of its manifest in that space, whatever its files are by now. */
RYE_API int rye_skill_manifest(struct rye *rye, enum rye_space space, const char *name,
			       struct rye_blob **ret, struct rye_err *err);

/*
 * What clients are offered: skills, items that are shown as skills, and `ryefs`, which tells how all of
 * them are used (engine/offer). Of one name the skill counts, then the directive, the knowledge, the tool.
 */
enum rye_offer {
	RYE_OFFER_OWN, /* skills of every space; other items of the project and the user */
	RYE_OFFER_ALL, /* items of bundles, too */
	RYE_OFFER_ONLY, /* skills, and `ryefs` */
	RYE_OFFER_NONE,
};
struct rye_offers;
/* NULL: no memory. Closed when no thread uses it any more. */
RYE_API struct rye_offers *rye_offers_open(struct rye *rye, enum rye_offer which);
RYE_API void rye_offers_close(struct rye_offers *offers); /* NULL is fine */
/* Something has changed: what is known of names is found out again. Only takes a note. */
RYE_API void rye_offers_stale(struct rye_offers *offers);
/* As rye_skill_find, _list, _read and _names; skill: as the first has filled it. A name of a file may have
 * inputs behind a question mark: "SKILL.md?to=Ann". */
RYE_API int rye_offer_find(struct rye_offers *offers, const char *name, struct rye_skill *ret,
			   struct rye_err *err);
RYE_API int rye_offer_list(struct rye_offers *offers, rye_skill_fn fn, void *arg,
			   struct rye_err *err);
RYE_API int rye_offer_read(struct rye_offers *offers, const struct rye_skill *skill,
			   const char *path, struct rye_skill_file *ret, struct rye_err *err);
RYE_API int rye_offer_names(struct rye_offers *offers, const struct rye_skill *skill,
			    const char *dir, rye_skill_name_fn fn, void *arg, struct rye_err *err);

/* An item that would be shown as a skill if its name were another. */
struct rye_clash {
	enum rye_kind kind;
	const char *path; /* its file, below the kind's directory */
	const char *name; /* "": its id gives none */
	enum rye_kind by; /* has it, or is one of the same that has it no more than this does */
	const char *by_path; /* its file; "" of a skill */
};
typedef int (*rye_clash_fn)(void *arg, const struct rye_clash *clash); /* nonzero stops */
RYE_API int rye_offer_clashes(struct rye_offers *offers, rye_clash_fn fn, void *arg,
			      struct rye_err *err);

#endif
