/* SPDX-License-Identifier: MIT */
/*
 * A receipt's envelope of any bytes: no node vouches for it; what is read can be signed again, and is
 * then good.
 */
#include "order/order.h"
#include "scope.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void receipt_again(const struct receipt *receipt)
{
	const unsigned char seed[KEY_LEN] = "a key of the tests, 32 bytes lo";
	auto_receipt struct receipt second = *receipt, again = { .doc = NULL };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char vouched[KEY_SIG_TEXT];
	struct key_secret key;
	struct receipt_want want = { &key.pub, receipt->id, receipt->order };

	second.doc = second.envelope = NULL;
	key_secret_seed(seed, &key);
	if (!receipt_check(receipt, &want, NULL))
		abort();
	memcpy(second.node, key.pub.fp, KEY_FP);
	receipt_vouch(&key, &key.pub, vouched);
	if (receipt_sign(&second, &key, vouched, &text, NULL) ||
	    (text.len <= ORDER_MAX &&
	     (receipt_read(buf_span(&text), &again, NULL) || receipt_check(&again, &want, NULL))))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_receipt struct receipt receipt = { .doc = NULL };

	if (!receipt_read((struct rye_span){ (const char *)data, size }, &receipt, NULL))
		receipt_again(&receipt);
	return 0;
}
