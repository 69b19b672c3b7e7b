/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of one host without a common parent process. The first rank creates the memory that rt_group_run() would create
 * and passes it to the others over a socket. The socket is in the abstract namespace, and its name contains a secret
 * key. Connections from other users are closed.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"

#define PATIENCE_S	60
#define WATCH_MS	100 /* between two checks of the connections of the other ranks */

static socklen_t address(uint64_t key, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* a leading zero byte selects the abstract namespace */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "gputune-%016llx",
					    (unsigned long long)key));
}

int rt_local_listen(uint64_t key, int *ret_fd, struct gt_err *err)
{
	struct sockaddr_un to;
	socklen_t len = address(key, &to);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, len) < 0 || listen(fd, RT_MAX_RANKS) < 0)
		r = gt_fail_errno(err, errno, "cannot make a socket for the ranks of this host");
	if (r && fd >= 0)
		close(fd);
	if (!r)
		*ret_fd = fd;
	return r;
}

union fds {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int) * (RT_MAX_RANKS + 1))];
};

static struct msghdr message(union fds *u, struct iovec *one, int n)
{
	return (struct msghdr){ .msg_iov = one, .msg_iovlen = 1, .msg_control = u,
				.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n) };
}

static int give(int fd, const int *fds, int n, struct gt_err *err)
{
	char byte = 0;
	struct iovec one = { &byte, 1 };
	union fds u = { 0 };
	struct msghdr m = message(&u, &one, n);

	u.head.cmsg_level = SOL_SOCKET;
	u.head.cmsg_type = SCM_RIGHTS;
	u.head.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(&u.head), fds, sizeof(int) * (size_t)n);
	return sendmsg(fd, &m, MSG_NOSIGNAL) == 1 ? 0 : gt_fail_errno(err, errno, "cannot pass memory to a rank of this host");
}

static bool is_ours(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

/* Returns 1 if fd can be read, 0 if not yet, or an error if a rank has ended or the time is over. */
static int await(int fd, struct rt_comm *star, double until, struct gt_err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	if (poll(&p, 1, WATCH_MS) > 0)
		return 1;
	r = star ? rt_star_watch(star, err) : 0;
	return r || gt_now_s() < until ? r :
	       gt_fail(err, ETIMEDOUT, "the ranks of this host have not shared memory for %d s", PATIENCE_S);
}

/* Sends the descriptors to every other rank that connects. */
static int give_all(int listener, struct rt_comm *star, const int *fds, int n, int others, struct gt_err *err)
{
	double until = gt_now_s() + PATIENCE_S;
	int r = 0;

	while (r >= 0 && others) {
		int fd;

		r = await(listener, star, until, err);
		fd = r > 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		if (is_ours(fd)) {
			r = give(fd, fds, n, err);
			others--;
		}
		close(fd);
	}
	return GT_MIN(r, 0);
}

static int receive(int fd, struct rt_comm *star, int *fds, int n, struct gt_err *err)
{
	double until = gt_now_s() + PATIENCE_S;
	char byte;
	struct iovec one = { &byte, 1 };
	union fds u = { 0 };
	struct msghdr m = message(&u, &one, n);
	int r = 0;

	while (!r)
		r = await(fd, star, until, err);
	if (r < 0)
		return r;
	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) == 1 && u.head.cmsg_len == CMSG_LEN(sizeof(int) * (size_t)n)) {
		memcpy(fds, CMSG_DATA(&u.head), sizeof(int) * (size_t)n);
		return 0;
	}
	poll(NULL, 0, WATCH_MS); /* the first rank may have ended because another one did, which it has reported */
	r = star ? rt_star_watch(star, err) : 0;
	return r ? r : gt_fail(err, EPROTO, "the first rank of this host passed no memory");
}

static int take(uint64_t key, struct rt_comm *star, int *fds, int n, struct gt_err *err)
{
	struct sockaddr_un to;
	socklen_t len = address(key, &to);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, len) < 0)
		r = gt_fail_errno(err, errno, "cannot reach the first rank of this host");
	else if (!is_ours(fd))
		r = gt_fail(err, EPERM, "the first rank of this host belongs to another user");
	else
		r = receive(fd, star, fds, n, err);
	if (fd >= 0)
		close(fd);
	return r;
}

static int make(int *fds, int n, size_t shm_bytes, struct gt_err *err)
{
	for (int i = 0; i < n; i++) {
		fds[i] = memfd_create("gputune-rank", MFD_CLOEXEC);
		if (fds[i] < 0 || (i == 0 && ftruncate(fds[i], (off_t)shm_bytes) < 0))
			return gt_fail_errno(err, errno, "cannot make shared memory for %d ranks", n - 1);
	}
	return 0;
}

static size_t shm_size(int size)
{
	return sizeof(struct rt_shm) + (size_t)size * sizeof(struct rt_shm_rank);
}

static struct rt_comm *member(int rank, int size, const int *fds, struct rt_shm *shm)
{
	struct rt_comm *c = gt_xcalloc(1, sizeof(*c));

	c->transport = &rt_transport_shm;
	c->rank = rank;
	c->size = size;
	c->nodes = c->hosts = 1;
	c->timeout_s = RT_TIMEOUT_S;
	c->home = -1;
	c->shm = shm;
	for (int i = 0; i < size; i++) {
		c->fd[i] = fds[i + 1];
		c->weight[i] = 1.0f / (float)size;
		c->world[i] = i;
	}
	return c;
}

int rt_local_join(int listener, uint64_t key, int rank, int size, struct rt_comm *star, struct rt_comm **ret, struct gt_err *err)
{
	int fds[RT_MAX_RANKS + 1], n = size + 1, r;
	void *shm = MAP_FAILED;

	for (int i = 0; i < n; i++)
		fds[i] = -1;
	r = rank ? take(key, star, fds, n, err) : make(fds, n, shm_size(size), err);
	if (!r && !rank)
		r = give_all(listener, star, fds, n, size - 1, err);
	if (!r) {
		shm = mmap(NULL, shm_size(size), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
		if (shm == MAP_FAILED)
			r = gt_fail_errno(err, errno, "cannot map memory for %d ranks", size);
	}
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0 && (r || i == 0))
			close(fds[i]);
	if (!r)
		*ret = member(rank, size, fds, shm);
	return r;
}

void rt_local_leave(struct rt_comm *c)
{
	munmap(c->shm, shm_size(c->size));
	for (int i = 0; i < c->size; i++)
		close(c->fd[i]);
	rt_shm_free_unmapped(c);
	free(c);
}
