/* SPDX-License-Identifier: MIT */
/* Kinds of addresses: the edges of every range that is not public. */
#include "http/http.h"
#include "rye_test.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static enum address_kind kind_of(const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return address_kind((struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return address_kind((struct sockaddr *)&v6);
}

static void each_range(void **state)
{
	static const char *const loopback[] = { "127.0.0.1", "127.255.255.255", "::1",
						"::ffff:127.0.0.1" };
	static const char *const private[] = {
		"0.0.0.0",	   "10.0.0.1",	      "100.64.0.1",
		"100.127.255.255", "169.254.169.254", "172.16.0.1",
		"172.31.255.255",  "192.0.2.1",	      "192.168.255.255",
		"198.18.0.1",	   "198.51.100.1",    "203.0.113.1",
		"224.0.0.1",	   "255.255.255.255", "::",
		"fe80::1",	   "fc00::1",	      "fd12::1",
		"ff02::1",	   "2001:db8::1",     "2001::1",
		"::ffff:10.0.0.1", "64:ff9b::a00:1",  "2002:a00:1::1",
	};
	static const char *const public[] = {
		"1.1.1.1",	  "9.255.255.255",   "11.0.0.1",
		"100.63.255.255", "100.128.0.1",     "172.15.0.1",
		"172.32.0.1",	  "192.0.1.1",	     "198.20.0.1",
		"223.255.255.1",  "2606:4700::1111", "::ffff:8.8.8.8",
		"2a00::1",	  "2003::1",	     "2001:4860:4860::8888",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		assert_int_equal(kind_of(loopback[i]), ADDRESS_LOOPBACK);
	for (size_t i = 0; i < ARRAY_SIZE(private); i++)
		assert_int_equal(kind_of(private[i]), ADDRESS_PRIVATE);
	for (size_t i = 0; i < ARRAY_SIZE(public); i++)
		assert_int_equal(kind_of(public[i]), ADDRESS_PUBLIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_range) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
