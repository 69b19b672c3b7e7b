/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which checks tell of a message that somebody pastes. Messages come with other numbers, addresses and paths each time,
 * with time stamps before them and a stack trace behind them: compared are their words, in order, and a word counts the
 * more, the fewer checks have it in their messages. Words that no message has count nothing.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "probe/check/check.h"

#define MOST_WORDS 400 /* of the pasted text; what follows is a trace */
#define LONGEST    32  /* bytes of a word that count */
#define ENOUGH     6.0 /* weight of what is found: two rare words */
#define RARE       4.0 /* of one that stands for a message alone */
#define MOST_OF    0.6 /* of the message or of the text */
#define RUN        6.0 /* weight of words that follow each other in both */
#define NEAR       0.6 /* of the best one's rank: they are told too */

struct words {
	char w[MOST_WORDS][LONGEST];
	double weight[MOST_WORDS];
	size_t n;
};

/* Every word of all messages, and how many checks have it. */
struct vocabulary {
	struct {
		char w[LONGEST];
		size_t checks, last;
	} * e;
	size_t n, n_checks;
};

/* Letters and digits make words; a path or an address falls into its parts. */
static const char *next_word(const char *text, const char *end, char to[LONGEST])
{
	size_t n = 0;

	while (text < end && !isalnum((unsigned char)*text))
		text++;
	for (; text < end && isalnum((unsigned char)*text); text++)
		if (n < LONGEST - 1)
			to[n++] = (char)tolower((unsigned char)*text);
	to[n] = '\0';
	return n ? text : NULL;
}

static void learn(struct vocabulary *v, const char *text, size_t check)
{
	const char *end = text + strlen(text);
	char w[LONGEST];

	while ((text = next_word(text, end, w))) {
		size_t i = 0;

		while (i < v->n && strcmp(v->e[i].w, w))
			i++;
		if (i == v->n) {
			v->e = gt_xrealloc(v->e, (v->n + 1) * sizeof(*v->e));
			v->e[v->n].checks = v->e[v->n].last = 0;
			strcpy(v->e[v->n++].w, w);
		}
		if (v->e[i].last != check) {
			v->e[i].last = check;
			v->e[i].checks++;
		}
	}
}

static double weight(const struct vocabulary *v, const char *w)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->e[i].w, w))
			return log(1 + (double)v->n_checks / (double)v->e[i].checks) * (strlen(w) < 3 ? 0.2 : 1);
	return 0;
}

static void split(const struct vocabulary *v, const char *text, size_t len, struct words *ret)
{
	const char *end = text + len;

	ret->n = 0;
	while (ret->n < MOST_WORDS && (text = next_word(text, end, ret->w[ret->n]))) {
		ret->weight[ret->n] = weight(v, ret->w[ret->n]);
		ret->n += ret->weight[ret->n] > 0;
	}
}

struct match {
	double common, run; /* weight of the longest common row of words, and of one without gaps */
};

static struct match match(const struct words *a, const struct words *b)
{
	double row[MOST_WORDS + 1] = {0}, run[MOST_WORDS + 1] = {0};
	struct match m = {0};

	for (size_t i = 0; i < a->n; i++) {
		double diagonal = 0, run_diagonal = 0;

		for (size_t k = 0; k < b->n; k++) {
			double above = row[k + 1], run_above = run[k + 1];
			bool same = !strcmp(a->w[i], b->w[k]);

			row[k + 1] = GT_MAX(GT_MAX(above, row[k]), same ? diagonal + a->weight[i] : 0);
			run[k + 1] = same ? run_diagonal + a->weight[i] : 0;
			m.run = GT_MAX(m.run, run[k + 1]);
			diagonal = above;
			run_diagonal = run_above;
		}
	}
	m.common = row[b->n];
	return m;
}

static double total(const struct words *w)
{
	double sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += w->weight[i];
	return sum;
}

/* 0: it is not this message; else the more, the better it fits. */
static double rank(const struct words *text, const struct words *message)
{
	struct match m = match(text, message);
	double given = total(text), all = total(message), part;

	if (!m.common || (m.common < ENOUGH && !(m.common >= RARE && m.common >= given)))
		return 0;
	part = m.common / GT_MIN(all, given);
	return part >= MOST_OF || m.run >= RUN ? m.common * part : 0;
}

static double best_rank(const struct vocabulary *v, const struct pr_check *k, const struct words *text,
			struct words *message)
{
	double best = 0;

	for (const char *line = k->messages; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		split(v, line, strcspn(line, "\n"), message);
		best = GT_MAX(best, rank(text, message));
	}
	return best;
}

/* All that have messages: the checks, then the stories. */
static const struct pr_check *teller(size_t i)
{
	size_t n = 0;

	while (pr_checks[n])
		n++;
	return i < n ? pr_checks[i] : pr_stories[i - n];
}

size_t pr_check_search(const char *text, const struct pr_check *ret[PR_SEARCH_MOST])
{
	struct words *words = gt_xcalloc(2, sizeof(*words));
	struct vocabulary v = {0};
	double ranks[PR_SEARCH_MOST] = {0};
	size_t n = 0;

	for (size_t i = 0; teller(i); i++, v.n_checks++)
		if (teller(i)->messages)
			learn(&v, teller(i)->messages, i + 1);
	split(&v, text, strlen(text), words);
	for (size_t i = 0; teller(i); i++) {
		double r = best_rank(&v, teller(i), words, words + 1);
		size_t at = n;

		if (r <= 0)
			continue;
		for (; at && ranks[at - 1] < r; at--)
			if (at < PR_SEARCH_MOST) {
				ranks[at] = ranks[at - 1];
				ret[at] = ret[at - 1];
			}
		if (at < PR_SEARCH_MOST) {
			ranks[at] = r;
			ret[at] = teller(i);
			n = GT_MIN(n + 1, (size_t)PR_SEARCH_MOST);
		}
	}
	while (n && ranks[n - 1] < ranks[0] * NEAR)
		n--;
	free(v.e);
	free(words);
	return n;
}
