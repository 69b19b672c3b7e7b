/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include "lib/signals.h"
#include "lib/util.h"

/*
 * Opens with O_PATH, so that the descriptor can be neither read nor written, and with O_CLOEXEC, so that an executed
 * program finds it closed.
 */
void gt_hold_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) < 0)
			return;
}

static void on_signal(int sig)
{
	gt_interrupted = sig;
}

/* If SIGINT, SIGTERM or SIGHUP was ignored at the start (nohup), it stays ignored, also in children. */
static struct {
	int sig;
	void (*handler)(int);
	bool ends; /* a request to end */
	struct sigaction before;
} signals[] = {
	{ .sig = SIGINT, .handler = on_signal, .ends = true },
	{ .sig = SIGTERM, .handler = on_signal, .ends = true },
	{ .sig = SIGHUP, .handler = on_signal, .ends = true },
	{ .sig = SIGPIPE, .handler = SIG_IGN }, /* a transaction continues after the reader of stdout exits */
	{ .sig = SIGXFSZ, .handler = SIG_IGN }, /* write(2) beyond the file size limit then fails with EFBIG */
	{ .sig = SIGCHLD, .handler = SIG_DFL }, /* if SIGCHLD were ignored, wait(2) would return no status */
};

void gt_install_signals(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(signals); i++) {
		struct sigaction action = { .sa_handler = signals[i].handler, .sa_flags = signals[i].ends ? SA_RESETHAND : 0 };

		sigaction(signals[i].sig, NULL, &signals[i].before);
		if (!signals[i].ends || signals[i].before.sa_handler != SIG_IGN)
			sigaction(signals[i].sig, &action, NULL);
	}
}

void gt_restore_signals(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(signals); i++)
		sigaction(signals[i].sig, &signals[i].before, NULL);
}

/* A process that waits for a hung file system never checks gt_interrupted. */
void gt_end_at_signal(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(signals); i++)
		if (signals[i].ends)
			sigaction(signals[i].sig, &signals[i].before, NULL);
}
