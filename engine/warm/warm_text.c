/* SPDX-License-Identifier: MIT */
/*
 * A small table of texts, compared byte for byte: what was compiled for one text never answers
 * for another. It holds references, no copies. Callers hold the pools' lock; nothing here
 * waits.
 */
#include "warm/warm_inner.h"

#include "scope.h"

#include <stdlib.h>
#include <string.h>

static bool is_it(const struct warm_text *text, const struct rye_blob *source, const char *path)
{
	if (!text->source || strcmp(text->path, path))
		return false;
	return text->source == source || (text->source->len == source->len &&
					  !memcmp(text->source->data, source->data, source->len));
}

static void warm_text_done(struct warm_text *text)
{
	rye_blob_unref(text->source);
	free(text->path);
	*text = (struct warm_text){ NULL };
}

const struct warm_text *warm_texts_find(struct warm_texts *texts, struct rye_blob *source,
					const char *path)
{
	if (source->len > RYE_WARM_TEXT_MAX)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(texts->known); i++)
		if (is_it(&texts->known[i], source, path))
			return &texts->known[i];
	warm_text_done(&texts->wanted);
	texts->wanted = (struct warm_text){ rye_blob_ref(source), strdup(path), 0 };
	if (!texts->wanted.path)
		warm_text_done(&texts->wanted);
	return NULL;
}

bool warm_texts_take_wanted(struct warm_texts *texts, struct warm_text *ret)
{
	*ret = texts->wanted;
	texts->wanted = (struct warm_text){ NULL };
	return ret->source;
}

void warm_texts_put(struct warm_texts *texts, struct warm_text *text)
{
	struct warm_text *at = &texts->known[texts->next++ % ARRAY_SIZE(texts->known)];

	warm_text_done(at);
	*at = *text;
	*text = (struct warm_text){ NULL };
}

void warm_texts_done(struct warm_texts *texts)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts->known); i++)
		warm_text_done(&texts->known[i]);
	warm_text_done(&texts->wanted);
}

bool warm_text_known(unsigned number, unsigned taught)
{
	return number && number <= taught && number + RYE_WARM_TEXTS > taught;
}
