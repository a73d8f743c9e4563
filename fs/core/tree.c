/* SPDX-License-Identifier: MIT */
/*
 * tree.c - what a name means in a directory of the mount.
 *
 * Owns the grammar of docs/files.md and nothing else: no lock, no allocation, no call that could
 * wait. Callers are the lookups of every class of nodes. Must not call the engine.
 */
#include "core/tree.h"

#include "core/ctl.h"
#include "err.h"
#include "hash.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <string.h>

/* st_ino of generated files: bit 62 set, so that they never meet an inode of a disk. */
#define INO_OURS (1ull << 62)

/*
 * What agents' sandboxes cover in their working directory by mounts of their own, lest what runs in
 * them makes it: where a sandbox can neither find nor make such a name, it ends before its first
 * command. None is listed. git takes an empty .git for no repository (tests/e2e/boxed.sh).
 */
static const struct tree_covered_row {
	const char *name, *text; /* NULL: an empty directory */
} covered[] = {
	{ ".agents", NULL },   { ".bash_profile", "" },	  { ".bashrc", "" },
	{ ".claude", NULL },   { ".codex", NULL },	  { ".continue", NULL },
	{ ".cursor", NULL },   { ".devcontainer", NULL }, { ".github", NULL },
	{ ".gemini", NULL },   { ".git", NULL },	  { ".gitconfig", "" },
	{ ".gitmodules", "" }, { ".idea", NULL },	  { ".mcp.json", "{\"mcpServers\": {}}\n" },
	{ ".opencode", NULL }, { ".profile", "" },	  { ".qwen", NULL },
	{ ".ripgreprc", "" },  { ".vscode", NULL },	  { ".zprofile", "" },
	{ ".zshrc", "" },
};

static const struct tree_covered_row *covered_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(covered); i++)
		if (strcmp(covered[i].name, name) == 0)
			return &covered[i];
	return NULL;
}

const char *tree_covered(const char *name)
{
	const struct tree_covered_row *row = covered_find(name);

	return row ? row->text : NULL;
}

/* What the root has beside the kinds' directories and the primitives. Not listed are the index,
 * which is made when it is looked up, new, spaces and .ryefs, or `rm -rf` of a project with its mount inside would delete through them. */
static const struct root_name {
	const char *name;
	enum tree_sort sort;
	bool listed;
} root_names[] = {
	{ ".ryefs", TREE_DOT, false },
	{ "README.md", TREE_README, true },
	{ "index.json", TREE_INDEX_JSON, false },
	{ "index.md", TREE_INDEX_MD, false },
	{ "new", TREE_NEW, false },
	{ "remotes", TREE_REMOTES, false }, /* where some are configured: views/fixed.c */
	{ "search", TREE_SEARCH, true },
	{ "spaces", TREE_SPACES, false },
	{ "state", TREE_STATE, true },
};

/* What shells, version control, editors and package managers look for in any directory. */
static const char *const probes[] = {
	"AGENTS.md",
	"BUILD",
	"CLAUDE.md",
	"CMakeLists.txt",
	"Cargo.toml",
	"Dockerfile",
	"GNUmakefile",
	"HEAD",
	"Makefile",
	"RCS",
	"SCCS",
	"WORKSPACE",
	"bower.json",
	"build.gradle",
	"composer.json",
	"deno.json",
	"desktop.ini",
	"go.mod",
	"jsconfig.json",
	"makefile",
	"node_modules",
	"package.json",
	"package.yaml",
	"pom.xml",
	"pyproject.toml",
	"pyvenv.cfg",
	"requirements.txt",
	"setup.cfg",
	"setup.py",
	"tox.ini",
	"tsconfig.json",
	"CVS",
};

static void core_tree_put(struct tree_key *key, enum tree_sort sort, uint8_t kind)
{
	key->sort = sort;
	key->kind = kind;
	key->ctl = NULL;
	key->path_len = 0;
	key->text_len = 0;
	key->text[0] = 0;
}

static int tree_set_path(struct tree_key *key, const char *path, size_t len)
{
	if (len >= sizeof(key->text))
		return -ENAMETOOLONG;
	memcpy(key->text, path, len);
	key->text[len] = 0;
	key->path_len = (uint16_t)len;
	key->text_len = (uint16_t)len;
	return 0;
}

int tree_set_query(struct tree_key *key, const char *query)
{
	size_t len = strlen(query);

	if (key->path_len + 1 + len >= sizeof(key->text))
		return -ENAMETOOLONG;
	memcpy(key->text + key->path_len + 1, query, len + 1);
	key->text_len = (uint16_t)(key->path_len + 1 + len);
	return 0;
}

/* dir/name, or name in the root of a kind. */
static int tree_join(struct tree_key *key, const char *dir, const char *name)
{
	size_t a = strlen(dir), b = strlen(name), slash = a ? 1 : 0;

	if (a + slash + b >= sizeof(key->text))
		return -ENAMETOOLONG;
	memcpy(key->text, dir, a);
	if (slash)
		key->text[a] = '/';
	memcpy(key->text + a + slash, name, b + 1);
	key->path_len = (uint16_t)(a + slash + b);
	key->text_len = key->path_len;
	return 0;
}

static int tree_named(struct tree_key *ret, enum tree_sort sort, uint8_t kind, const char *name)
{
	core_tree_put(ret, sort, kind);
	return tree_set_path(ret, name, strlen(name));
}

static int step_root(const char *name, struct tree_key *ret)
{
	const struct ctl *ctl = ctl_root_find(name);

	if (ctl) {
		core_tree_put(ret, TREE_PRIMITIVE, 0);
		ret->ctl = ctl;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(root_names); i++)
		if (strcmp(root_names[i].name, name) == 0) {
			core_tree_put(ret, root_names[i].sort, 0);
			return 0;
		}
	if (covered_find(name))
		return tree_named(ret, TREE_COVERED, 0, name);
	for (uint8_t kind = 0; kind < RYE_KIND__MAX; kind++)
		if (strcmp(rye_kind_dir(kind), name) == 0) {
			bool folders = rye_kind_has(kind, RYE_KIND_MANIFEST);

			core_tree_put(ret, folders ? TREE_SKILLS : TREE_MERGED, kind);
			return 0;
		}
	return -ENOENT;
}

void tree_root_names(bool all, void *arg, void (*fn)(void *arg, const char *name))
{
	size_t n;
	const struct ctl *ctls = ctl_rows(&n);

	for (size_t i = 0; i < ARRAY_SIZE(root_names); i++)
		if (all || root_names[i].listed)
			fn(arg, root_names[i].name);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		fn(arg, rye_kind_dir((enum rye_kind)kind));
	for (size_t i = 0; i < n; i++)
		if (!ctls[i].of && (all || ctls[i].listed))
			fn(arg, ctls[i].name);
}

/* prompt.md?a=b: a derived file whose bytes depend on inputs. */
static const struct ctl *ctl_of(enum rye_kind kind, const char *name, const char **ret_query)
{
	const char *mark = strchr(name, '?');
	const struct ctl *ctl;
	char bare[32];

	*ret_query = NULL;
	if (!mark)
		return ctl_find(kind, name);
	if ((size_t)(mark - name) >= sizeof(bare))
		return NULL;
	memcpy(bare, name, mark - name);
	bare[mark - name] = 0;
	ctl = ctl_find(kind, bare);
	if (!ctl || !ctl->inputs)
		return NULL;
	*ret_query = mark + 1;
	return ctl;
}

static int step_merged(const struct tree_dir *dir, const char *name, struct tree_key *ret)
{
	const char *query;
	const struct ctl *ctl;

	if (strcmp(name, ".why") == 0) {
		core_tree_put(ret, TREE_WHY, dir->kind);
		return tree_set_path(ret, dir->path, strlen(dir->path));
	}
	ctl = dir->item ? ctl_of(dir->kind, name, &query) : NULL;
	if (ctl) {
		core_tree_put(ret, TREE_CTL, dir->kind);
		ret->ctl = ctl;
		if (tree_set_path(ret, dir->path, strlen(dir->path)))
			return -ENAMETOOLONG;
		return query ? tree_set_query(ret, query) : 0;
	}
	core_tree_put(ret, TREE_MERGED, dir->kind);
	return tree_join(ret, dir->path, name);
}

/* Of a skill's own names only these begin with a dot that its manifest does not decide about. */
static int step_skills(const struct tree_dir *dir, const char *name, struct tree_key *ret)
{
	bool top = dir->sort == TREE_SKILLS, below = strchr(dir->path, '/');

	if (top && strcmp(name, ".why") == 0) {
		core_tree_put(ret, TREE_WHY, dir->kind);
		return 0;
	}
	if (!top && !below && strcmp(name, ".rye") == 0)
		return tree_merged(dir->kind, dir->path, ret);
	if (top && name[0] == '.')
		return -ENOENT;
	core_tree_put(ret, TREE_SKILL, dir->kind);
	return tree_join(ret, dir->path, name);
}

static int step_spaces(const char *name, struct tree_key *ret)
{
	static const char *const names[RYE_SPACE__MAX] = { "project", "user", "system" };

	for (int i = 0; i < RYE_SPACE__MAX; i++)
		if (strcmp(names[i], name) == 0) {
			core_tree_put(ret, i == RYE_SYSTEM ? TREE_BUNDLES : TREE_SPACE, (uint8_t)i);
			return 0;
		}
	return -ENOENT;
}

/* Names that programs look up in any directory: no search query. */
static bool is_probe(const char *name)
{
	if (name[0] == '.')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		if (strcmp(probes[i], name) == 0)
			return true;
	return false;
}

int tree_step(const struct tree_dir *dir, const char *name, struct tree_key *ret)
{
	size_t len = strlen(name);

	if (len > (strchr(name, '?') ? TREE_QUERY_NAME_MAX : TREE_NAME_MAX))
		return -ENAMETOOLONG;
	switch (dir->sort) {
	case TREE_ROOT:
		return step_root(name, ret);
	case TREE_MERGED:
		return step_merged(dir, name, ret);
	case TREE_SKILLS:
	case TREE_SKILL:
		return step_skills(dir, name, ret);
	case TREE_SPACES:
		return step_spaces(name, ret);
	case TREE_BUNDLES:
		return tree_named(ret, TREE_SPACE, RYE_SYSTEM, name);
	case TREE_SEARCH:
		return is_probe(name) ? -ENOENT : tree_named(ret, TREE_RESULTS, 0, name);
	case TREE_RESULTS:
		core_tree_put(ret, TREE_HIT, 0);
		if (tree_set_path(ret, dir->path, strlen(dir->path)))
			return -ENAMETOOLONG;
		return tree_set_query(ret, name);
	case TREE_NEW:
		/* of no kind of items, though there is one of that number */
		core_tree_put(ret, TREE_WHY, RYE_KIND__MAX);
		if (strcmp(name, ".why") == 0)
			return tree_set_path(ret, dir->path, strlen(dir->path));
		core_tree_put(ret, TREE_NEW, 0);
		return is_probe(name) ? -ENOENT : tree_join(ret, dir->path, name);
	case TREE_STATE:
		core_tree_put(ret, TREE_THREADS, 0);
		return strcmp(name, "threads") == 0 ? 0 : -ENOENT;
	case TREE_DOT:
		return tree_named(ret, TREE_DOT_FILE, 0, name);
	default:
		return -ENOENT;
	}
}

void tree_root(struct tree_key *ret)
{
	core_tree_put(ret, TREE_ROOT, 0);
}

int tree_merged(enum rye_kind kind, const char *path, struct tree_key *ret)
{
	core_tree_put(ret, TREE_MERGED, (uint8_t)kind);
	return tree_set_path(ret, path, strlen(path));
}

const char *tree_query(const struct tree_key *key)
{
	return key->text_len > key->path_len ? key->text + key->path_len + 1 : NULL;
}

bool tree_split_query(const struct tree_key *merged, struct tree_key *ret)
{
	const char *slash = strrchr(merged->text, '/');
	const char *mark = strchr(slash ? slash : merged->text, '?');

	if (!mark || merged->sort != TREE_MERGED)
		return false;
	core_tree_put(ret, TREE_QUERY, merged->kind);
	if (tree_set_path(ret, merged->text, mark - merged->text))
		return false;
	return tree_set_query(ret, mark + 1) == 0;
}

uint64_t tree_ino(const struct tree_key *key)
{
	const unsigned char head[2] = { (unsigned char)key->sort, key->kind };
	uint64_t h = hash_bytes(HASH_BASIS, head, sizeof(head));

	if (key->ctl)
		h = hash_text(h, key->ctl->name);
	h = hash_bytes(h, key->text, key->text_len);
	/* the low bits are weak on short texts: fold the high half in */
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	h ^= h >> 32;
	return (h & (INO_OURS - 1)) | INO_OURS;
}

/* ---- .why ---- */

static const struct {
	const char *name;
	int sys;
} refusals[] = {
	{ "EACCES", EACCES },
	{ "EAGAIN", EAGAIN },
	{ "EBADMSG", EBADMSG },
	{ "ECANCELED", ECANCELED },
	{ "EDQUOT", EDQUOT },
	{ "EFBIG", EFBIG },
	{ "EINPROGRESS", EINPROGRESS },
	{ "EINTR", EINTR },
	{ "EINVAL", EINVAL },
	{ "EIO", EIO },
	{ "EKEYREJECTED", EKEYREJECTED },
	{ "ELOOP", ELOOP },
	{ "ENODATA", ENODATA },
	{ "ENOENT", ENOENT },
	{ "ENOEXEC", ENOEXEC },
	{ "ENOKEY", ENOKEY },
	{ "ENOSPC", ENOSPC },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "EREMOTEIO", EREMOTEIO },
	{ "EROFS", EROFS },
	{ "ETIMEDOUT", ETIMEDOUT },
	{ "EUCLEAN", EUCLEAN },
};

/* In the place of a command with another item's reference, whose slashes no link has. */
#define ELSEWHERE "the command that ryefs verify --all shows"

/* Is text's end "KIND:" and whole parts of the path, from the first one on? Then more follows. */
static bool tree_why_goes_on(const struct tree_dir *dir, const char *text)
{
	const char *kind = rye_kind_name(dir->kind), *colon = strrchr(text, ':');
	size_t k = strlen(kind), n;

	if (!colon || (size_t)(colon - text) <= k || colon[-1 - (ptrdiff_t)k] != ' ' ||
	    memcmp(colon - k, kind, k) != 0)
		return false;
	n = strlen(colon + 1);
	return n && strncmp(colon + 1, dir->path, n) == 0 && strchr("/", dir->path[n]);
}

/* A path in a message is its last name; the item's own reference stays whole. */
static void tree_why_drop(const struct tree_dir *dir, const char *text, char *ret, size_t size)
{
	const char *mend = strstr(text, MEND_WITH);
	size_t n = 0;

	for (const char *p = text; *p; p++) {
		ret[n] = 0;
		if (*p != '/' || (p[1] && tree_why_goes_on(dir, ret))) {
			ret[n++] = *p;
			continue;
		}
		while (n && ret[n - 1] != ' ')
			n--;
		if (mend && p > mend) {
			n = (size_t)(strstr(ret, MEND_WITH) - ret) + strlen(MEND_WITH);
			snprintf(ret + n, size - n, ELSEWHERE);
			return;
		}
	}
	ret[n] = 0;
}

/* A text that was cut may end with a part of the reference: a directory, or a name of one. */
static void tree_why_close(const struct tree_dir *dir, char *text, size_t size)
{
	size_t n = strlen(text);
	const char *slash = strrchr(text, '/');

	if (!tree_why_goes_on(dir, text) &&
	    !(slash && (strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)))
		return;
	text[n < size - 1 ? n++ : n - 1] = '-';
	text[n] = 0;
}

/* Control characters in a reason could move the cursor of the terminal that lists the directory. */
void tree_why_target(const struct tree_key *link, enum rye_code code, const char *reason,
		     char ret[TREE_WHY_SIZE])
{
	const char *up = link->sort == TREE_CTL ? "../.why/" : ".why/";
	const char *end = strrchr(link->text, '/');
	char path[TREE_TEXT_MAX] = "", text[TREE_WHY_SIZE];
	struct tree_dir dir = { .kind = link->kind, .path = path };
	size_t room = TREE_WHY_SIZE - strlen(up);

	if (end)
		memcpy(path, link->text, (size_t)(end - link->text));
	if (snprintf(text, room, "%s: %s", tree_errno_name(rye_code_errno(code)),
		     *reason ? reason : rye_code_name(code)) >= (int)room)
		utf8_mend(text);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	snprintf(ret, TREE_WHY_SIZE, "%s", up);
	ret += strlen(up);
	tree_why_drop(&dir, text, ret, room);
	tree_why_close(&dir, ret, room);
}

static bool tree_why_begins(const char *name)
{
	size_t len = strcspn(name, ":");

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (strncmp(refusals[i].name, name, len) == 0 && !refusals[i].name[len])
			return true;
	return false;
}

int tree_why_step(const struct tree_dir *dir, const char *before, const char *name,
		  struct tree_key *ret)
{
	char text[TREE_WHY_SIZE];
	int r;

	if (!*before && !tree_why_begins(name))
		return -ENOENT;
	if (snprintf(text, sizeof(text), "%s%s%s", before, *before ? "/" : "", name) >=
	    (int)sizeof(text))
		return -ENOENT;
	r = tree_merged(dir->kind, dir->path, ret);
	ret->sort = tree_why_goes_on(dir, text) ? TREE_WHY : TREE_REASON;
	return r ? r : tree_set_query(ret, text);
}

const char *tree_errno_name(int sys)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].sys == sys)
			return refusals[i].name;
	return "EIO";
}
