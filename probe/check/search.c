/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the checks for a pasted message. Messages vary in numbers, addresses and paths, and come with a time stamp and
 * a stack trace. The search compares their words in order. A word has more weight if fewer checks have it in their
 * messages.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "probe/check/check.h"

#define MOST_WORDS 400 /* words of the pasted text; the rest is usually a stack trace */
#define LONGEST    32  /* bytes of a word that are compared */
#define ENOUGH     6.0 /* minimum weight of a match: two rare words */
#define RARE       4.0 /* minimum weight of a single word that identifies a message */
#define MOST_OF    0.6 /* minimum share of the message or of the text */
#define RUN        6.0 /* minimum weight of consecutive words in both */
#define PIECE      0.3 /* minimum share of consecutive words in the message, if no check has some word of the text */
#define NEAR       0.6 /* minimum share of the best rank to be listed */
#define WHOLE      0.99 /* minimum share of the message for a complete match */
#define PART       0.75 /* minimum share of a match if every word of the text is in some message */
#define IDENTIFIER 12   /* letters of a word that identifies a message by itself: "cudaErrorSystemNotReady" */

struct words {
	char w[MOST_WORDS][LONGEST];
	double weight[MOST_WORDS];
	size_t n;
	double unknown; /* total weight of the words that are in no message */
};

/* All words of all messages, and the number of checks that have each. */
struct vocabulary {
	struct {
		char w[LONGEST];
		size_t checks, last;
	} * e;
	size_t n, n_checks; /* n_checks: number of checks with messages */
};

/* Returns the text after the next word. A word consists of letters and digits, so paths and addresses are split. */
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

/* Returns true for a version, an address or a process ID. A number of up to three digits may be an error number. */
static bool is_other_each_time(const char *w)
{
	return gt_starts_with(w, "0x") || (strlen(w) > 3 && !w[strspn(w, "0123456789")]);
}

static double rarity(const struct vocabulary *v, const char *w, size_t checks)
{
	if (is_other_each_time(w))
		return 0;
	return log(1 + (double)v->n_checks / (double)checks) * (strlen(w) < 3 ? 0.2 : 1);
}

/* Returns the weight of the word, 0 if it is in no message. */
static double weight(const struct vocabulary *v, const char *w)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->e[i].w, w))
			return rarity(v, w, v->e[i].checks);
	return 0;
}

static void split(const struct vocabulary *v, const char *text, size_t len, struct words *ret)
{
	const char *end = text + len;

	ret->n = 0;
	ret->unknown = 0;
	while (ret->n < MOST_WORDS && (text = next_word(text, end, ret->w[ret->n]))) {
		ret->weight[ret->n] = weight(v, ret->w[ret->n]);
		if (ret->weight[ret->n] > 0)
			ret->n++;
		else
			ret->unknown += rarity(v, ret->w[ret->n], 1);
	}
}

struct match {
	double common, run; /* weight of the longest common subsequence of words, and of the longest one without gaps */
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

static bool has_word(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->w[i], word))
			return true;
	return false;
}

/* Returns whether the text has each rare word of the message. */
static bool has_rare_words(const struct vocabulary *v, const struct words *text, const struct words *message)
{
	for (size_t i = 0; i < message->n; i++)
		if (message->weight[i] >= rarity(v, "word", 3) && !has_word(text, message->w[i]))
			return false;
	return true;
}

/* Detects "HW Slowdown : Not Active" for the message "HW Slowdown : Active". */
static bool is_negated(const struct words *text, const struct words *message)
{
	for (size_t i = 1; i + 1 < text->n; i++)
		for (size_t k = 0; k + 1 < message->n; k++)
			if ((!strcmp(text->w[i], "not") || !strcmp(text->w[i], "no")) && !strcmp(text->w[i - 1], message->w[k]) &&
			    !strcmp(text->w[i + 1], message->w[k + 1]))
				return true;
	return false;
}

/* Returns whether the text contains the message itself. Common words are not enough. */
static bool is_sure(const struct vocabulary *v, const struct words *text, const struct words *message, double common)
{
	double all = total(message);

	if (message->n == 1 && strlen(message->w[0]) >= IDENTIFIER)
		return common >= all;
	if (common < ENOUGH || is_negated(text, message))
		return false;
	if (common >= WHOLE * all)
		return has_rare_words(v, text, message);
	return !text->unknown && common >= total(text) && common >= PART * all;
}

struct rank {
	double v; /* 0: no match; else the higher, the better */
	bool sure;
};

static struct rank rank(const struct vocabulary *v, const struct words *text, const struct words *message)
{
	struct match m = match(text, message);
	double given = total(text) + text->unknown, all = total(message), part;
	struct rank r = {0};

	if (!m.common)
		return r;
	r.sure = is_sure(v, text, message, m.common);
	if (!r.sure && m.common < ENOUGH && !(m.common >= RARE && m.common >= given))
		return r;
	if (!r.sure && text->unknown && m.run < PIECE * all) /* scattered words agree by chance */
		return r;
	part = m.common / GT_MIN(all, given);
	r.v = r.sure || part >= MOST_OF || m.run >= RUN ? m.common * part : 0;
	return r;
}

static struct rank best_rank(const struct vocabulary *v, const struct pr_check *k, const struct words *text,
			     struct words *message)
{
	struct rank best = {0};

	for (const char *line = k->messages; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		struct rank r;

		split(v, line, strcspn(line, "\n"), message);
		r = rank(v, text, message);
		if (r.sure > best.sure || (r.sure == best.sure && r.v > best.v))
			best = r;
	}
	return best;
}

/* Returns the i-th entry with messages: first the checks, then the stories. */
static const struct pr_check *entry_at(size_t i)
{
	size_t n = 0;

	while (pr_checks[n])
		n++;
	return i < n ? pr_checks[i] : pr_stories[i - n];
}

static bool is_better(struct rank a, struct rank b)
{
	return a.sure != b.sure ? a.sure : a.v > b.v;
}

size_t pr_check_search(const char *text, struct pr_match ret[PR_SEARCH_MOST])
{
	struct words *words = gt_xcalloc(2, sizeof(*words));
	struct vocabulary v = {0};
	struct rank ranks[PR_SEARCH_MOST] = {0};
	size_t n = 0;

	for (size_t i = 0; entry_at(i); i++)
		if (entry_at(i)->messages) {
			learn(&v, entry_at(i)->messages, i + 1);
			v.n_checks++;
		}
	split(&v, text, strlen(text), words);
	for (size_t i = 0; entry_at(i); i++) {
		struct rank r = best_rank(&v, entry_at(i), words, words + 1);
		size_t at = n;

		if (r.v <= 0)
			continue;
		for (; at && is_better(r, ranks[at - 1]); at--)
			if (at < PR_SEARCH_MOST) {
				ranks[at] = ranks[at - 1];
				ret[at] = ret[at - 1];
			}
		if (at < PR_SEARCH_MOST) {
			ranks[at] = r;
			ret[at] = (struct pr_match){entry_at(i), r.sure};
			n = GT_MIN(n + 1, (size_t)PR_SEARCH_MOST);
		}
	}
	while (n && ranks[n - 1].v < ranks[0].v * NEAR)
		n--;
	free(v.e);
	free(words);
	return n;
}
