/* SPDX-License-Identifier: MIT */
/*
 * An order's envelope of any bytes: what is read is of the form that can be signed again, to the same
 * digest, and no key has signed it.
 */
#include "order/order.h"
#include "scope.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sign_again(struct order *order)
{
	const unsigned char seed[KEY_LEN] = "a key of the tests, 32 bytes lo";
	const struct order first = *order;
	auto_order struct order again = { .doc = NULL }, second = *order;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct key_secret key;
	struct order_want want = { key.pub.bytes, order->node, order->made };
	json_t *secrets = NULL;

	second.doc = second.envelope = NULL;
	key_secret_seed(seed, &key);
	if (!order_check(order, &want, NULL))
		abort();
	if (order_sign(&second, &key, NULL))
		abort();
	if (!order_put(&second, &text, NULL) &&
	    (order_read(buf_span(&text), &again, NULL) || order_check(&again, &want, NULL)))
		abort();
	if (!strcmp(first.asker, second.asker) && strcmp(first.sha, second.sha) != 0)
		abort();
	if (!order_unseal(order, seed, &secrets, NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_order struct order order = { .doc = NULL };

	if (!order_read((struct rye_span){ (const char *)data, size }, &order, NULL))
		sign_again(&order);
	return 0;
}
