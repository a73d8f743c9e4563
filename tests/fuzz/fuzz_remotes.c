/* SPDX-License-Identifier: MIT */
/*
 * fuzz_remotes.c - files of the two ends: the input as a principal's file, as one that the node has
 * signed, as a pin's text, as an entry of remotes.yaml, and as the address of one.
 */
#include "door/door.h"
#include "format/format.h"
#include "remote/remote.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_principal(const struct node_dir *node, struct rye_span text, bool whole)
{
	auto_principal struct principal who = { 0 };

	if (principal_read(node, "8ff5759a26de8845", text, &who, NULL))
		return;
	/* its own words alone are not the node's */
	if (!whole || who.jobs < 0 || who.bytes < 0 || !json_is_array(who.allow))
		abort();
	json_decref(principal_json(&who));
}

static void check_files(struct rye_span text)
{
	auto_json json_t *toml = parse_toml(text, NULL);
	auto_json json_t *yaml = parse_yaml(text, NULL);
	const char *name;
	json_t *entry;
	auto_pin struct pin pin = { 0 };

	if (!pin_read("gpu", toml, &pin, NULL) && !pin.url)
		abort();
	json_object_foreach(json_object_get(yaml, "remotes"), name, entry) {
		auto_remote struct remote remote = { 0 };

		if (!remote_read(name, entry, &remote, NULL) && !remote_name_ok(name))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char seed[KEY_LEN] = { 1 };
	struct rye_span text = { (const char *)data, size };
	struct node_dir node = { .dir = -1 };
	auto_blob struct rye_blob *stamped = NULL;
	auto_free char *url = span_dup(text);

	key_secret_seed(seed, &node.key);
	check_principal(&node, text, false);
	stamped = stamped_write(text, &node.key, "2026-01-02T03:04:05Z");
	check_principal(&node, (struct rye_span){ stamped->data, stamped->len }, true);
	check_files(text);
	conn_check(url, NULL);
	return 0;
}
