/* SPDX-License-Identifier: MIT */
/*
 * Clocks. Pure but for reading the kernel's; no time zone is ever consulted. Durations are
 * counted by the monotonic clock; only time stamps in files and replies are wall time.
 */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_ms(void)
{
	return read_ns(CLOCK_MONOTONIC) / NS_PER_MS;
}

int64_t clock_us(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_own_us(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID) / 1000;
}

void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t end)
{
	const struct timespec until = { end / NS_PER_S, end % NS_PER_S };

	return pthread_cond_timedwait(cond, lock, &until);
}

void clock_stamp(time_t when, char ret[24])
{
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(ret, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void clock_stamp_signed(char ret[24])
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	char *end = NULL;
	long long when = text && *text ? strtoll(text, &end, 10) : -1;

	/* years of four digits alone */
	clock_stamp(end && !*end && when >= 0 && when < 253402300800LL ? (time_t)when : time(NULL),
		    ret);
}

void clock_iso_at(int64_t us, char ret[40])
{
	time_t seconds = (time_t)(us / 1000000);
	char date[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret, 40, "%s.%06d+00:00", date, (int)(us % 1000000));
}

void clock_iso_us(char ret[40])
{
	clock_iso_at(read_ns(CLOCK_REALTIME) / 1000, ret);
}

/* "+01:30" and the like, in seconds; "Z" and nothing are UTC. */
static bool iso_zone(const char *text, long *ret)
{
	unsigned hours, minutes;

	*ret = 0;
	if (!*text || !strcmp(text, "Z"))
		return true;
	if ((*text != '+' && *text != '-') || sscanf(text + 1, "%2u:%2u", &hours, &minutes) != 2)
		return false;
	*ret = (long)(hours * 60 + minutes) * (*text == '-' ? -60 : 60);
	return true;
}

bool clock_iso_read(const char *text, struct timespec *ret)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	long ns = 0, zone;

	rest = rest && (*rest == 'T' || *rest == ' ') ? strptime(rest + 1, "%H:%M:%S", &tm) : NULL;
	if (!rest)
		return false;
	if (*rest == '.') {
		long unit = NS_PER_S / 10;

		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			ns += (*rest - '0') * unit;
	}
	if (!iso_zone(rest, &zone))
		return false;
	*ret = (struct timespec){ timegm(&tm) - zone, ns };
	return true;
}

int64_t clock_age_read(const char *text)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; digits && digits < 6 && i < sizeof(units) / sizeof(*units); i++)
		if (text[digits] == units[i].letter && !text[digits + 1])
			return strtol(text, NULL, 10) * units[i].seconds;
	return -1;
}
