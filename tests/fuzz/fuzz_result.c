/* SPDX-License-Identifier: MIT */
/*
 * What tools print: the first byte says how the process ended, the rest is its output. The
 * answer always has data, and an error exactly when it is one.
 */
#include "scope.h"
#include "process/process.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct captured got = { 0 };
	struct result result;
	auto_blob struct rye_blob *text = NULL;

	if (!size)
		return 0;
	buf_add(&got.out, (const char *)data + 1, size - 1);
	buf_add(&got.err, (const char *)data + 1, (size - 1) / 2);
	got.out_bytes = got.out.len;
	got.err_bytes = got.err.len + (data[0] & 8);
	got.ended.code = data[0] & 3;
	got.ended.signal = data[0] & 4 ? 9 : 0;
	got.timed_out = data[0] & 16;
	result_of(&got, 1500, &result);
	if (!result.data || !result.error || (result.code == RYE_OK) != !*result.error)
		abort();
	text = json_blob(result.data, false);
	if (!text)
		abort();
	result_done(&result);
	captured_done(&got);
	return 0;
}
