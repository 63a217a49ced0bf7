/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the list of errands. Invariant: one that runs has a place among the running and a child, one that
 * waits is in the queue.
 */
#include "base/errand.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

/* Starting a process takes time: only so many of a kind start before others have their turn. */
#define MAX_STARTS 2

/* No process could be started: the next is when there may be fewer, or more memory. */
#define REFUSED_NS (NS_PER_SEC / 10)

/* A failed errand is tried again after 4, 16, 64, 256 s, and then every 10 minutes. */
#define FIRST_RETRY_NS (4 * NS_PER_SEC)
#define LAST_RETRY_NS  (600 * NS_PER_SEC)

/*
 * A child that was stopped ends at once, unless the kernel keeps it waiting for a server: after a
 * while nobody waits for it any more. So many of these may be there, and half as many of one user:
 * TasksMax= of bpftruss.service must have room for them besides all that run.
 */
#define STOPPED_MS   1000
#define FREE_WAIT_MS 100
#define MAX_LEFT     32

/* Users whose ids have the same hash share their turn. */
#define NR_TURNS 256

/* How many may run, those of one user among them, and how many may wait; half of these are one user's. */
static const struct {
	unsigned int max, max_of_user, max_waiting;
} limits[NR_ERRAND_KIND] = {
	[ERRAND_OPEN] = { MAX_RUNNING_ERRANDS, 4, UINT32_MAX },
	[ERRAND_NAMES] = { 4, 3, UINT32_MAX },
	[ERRAND_TABLE] = { 4, 3, UINT32_MAX },
	[ERRAND_FETCH] = { 4, 3, 56 },
	[ERRAND_PROCESS] = { 3, 2, UINT32_MAX },
};

/* A child that was stopped and has not ended. */
struct left_child {
	pid_t pid;
	uint32_t user;
};

TAILQ_HEAD(errand_queue, errand);

struct errands {
	int epoll;
	/* Errands of each kind stand in order of due time, then of arrival. */
	struct errand_queue waiting[NR_ERRAND_KIND];
	struct left_child left[MAX_LEFT];
	size_t nr_left;
	struct errand *running[NR_ERRAND_KIND * MAX_RUNNING_ERRANDS]; /* by number */
	bool is_paused[NR_ERRAND_KIND];
	uint64_t resume_ns;             /* none begins a turn before */
	uint64_t turn, turns[NR_TURNS]; /* when users had one last */
};

int errands_new(struct errands **ret)
{
	struct errands *errands __cleanup(freep) = calloc(1, sizeof(*errands));

	if (!errands)
		return -ENOMEM;
	errands->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (errands->epoll < 0)
		return -errno;
	for (int kind = 0; kind < NR_ERRAND_KIND; kind++)
		TAILQ_INIT(&errands->waiting[kind]);
	*ret = steal_ptr(&errands);
	return 0;
}

static void left_reap(struct errands *errands)
{
	for (size_t i = errands->nr_left; i-- > 0;) {
		if (waitpid(errands->left[i].pid, NULL, WNOHANG))
			errands->left[i] = errands->left[--errands->nr_left];
	}
}

void errands_free(struct errands *errands)
{
	static const struct timespec pause = { .tv_nsec = NS_PER_MS };

	if (!errands)
		return;
	for (int i = 0; i < FREE_WAIT_MS; i++) {
		left_reap(errands);
		if (!errands->nr_left)
			break;
		nanosleep(&pause, NULL);
	}
	close(errands->epoll);
	free(errands);
}

/* --- the queue -------------------------------------------------------------------------------- */

void errand_init(struct errand *errand, enum errand_kind kind,
		 enum errand_turn (*step)(void *closure), void *closure)
{
	*errand = (struct errand){
		.kind = kind, .child = NO_CHILD, .step = step, .closure = closure
	};
}

void errands_add(struct errands *errands, struct errand *errand)
{
	struct errand_queue *waiting = &errands->waiting[errand->kind];
	struct errand *before;

	if (errand_is_busy(errand))
		return;
	errand->is_waiting = true;
	TAILQ_FOREACH_REVERSE(before, waiting, errand_queue, queue)
	{
		if (before->due_ns <= errand->due_ns)
			break;
	}
	if (before)
		TAILQ_INSERT_AFTER(waiting, before, errand, queue);
	else
		TAILQ_INSERT_HEAD(waiting, errand, queue);
}

static void queue_remove(struct errands *errands, struct errand *errand)
{
	TAILQ_REMOVE(&errands->waiting[errand->kind], errand, queue);
	errand->is_waiting = false;
}

void errands_set_due(struct errands *errands, struct errand *errand, uint64_t due_ns)
{
	bool is_waiting = errand->is_waiting;

	if (is_waiting)
		queue_remove(errands, errand);
	errand->due_ns = due_ns;
	if (is_waiting)
		errands_add(errands, errand);
}

static void left_add(struct errands *errands, struct errand *errand)
{
	errands->left[errands->nr_left++] =
		(struct left_child){ child_leave(&errand->child), errand->user };
}

void errands_remove(struct errands *errands, struct errand *errand)
{
	if (errand->is_waiting)
		queue_remove(errands, errand);
	if (errand->is_running) {
		epoll_ctl(errands->epoll, EPOLL_CTL_DEL, errand->child.pidfd, NULL);
		errands->running[errand->number] = NULL;
		child_stop(&errand->child);
		left_reap(errands);
		if (errand->child.pid && errands->nr_left < MAX_LEFT)
			left_add(errands, errand);
	}
	errand->is_running = false;
	child_done(&errand->child);
}

void errands_pause(struct errands *errands, enum errand_kind kind, bool is_paused)
{
	errands->is_paused[kind] = is_paused;
}

/* --- whose turn it is ------------------------------------------------------------------------- */

/* How many of a kind run; user: only of that one, unless it is NULL. */
static unsigned int count_running(const struct errands *errands, enum errand_kind kind,
				  const uint32_t *user)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < MAX_RUNNING_ERRANDS; i++) {
		const struct errand *errand = errands->running[kind * MAX_RUNNING_ERRANDS + i];

		count += errand && (!user || errand->user == *user);
	}
	return count;
}

bool errands_have_room(const struct errands *errands, enum errand_kind kind, uint32_t user)
{
	unsigned int count = 0, of_user = 0;
	const struct errand *errand;

	TAILQ_FOREACH (errand, &errands->waiting[kind], queue) {
		count++;
		of_user += errand->user == user;
	}
	return count < limits[kind].max_waiting && of_user < limits[kind].max_waiting / 2;
}

static unsigned int turn_index(uint32_t user)
{
	return user * 0x9e3779b9u >> 24;
}

bool errands_prefer(const struct errands *errands, enum errand_kind kind, uint32_t user,
		    uint32_t other)
{
	unsigned int runs = count_running(errands, kind, &user);
	unsigned int other_runs = count_running(errands, kind, &other);

	if (runs != other_runs)
		return runs < other_runs;
	return errands->turns[turn_index(user)] < errands->turns[turn_index(other)];
}

static bool kind_has_room(const struct errands *errands, enum errand_kind kind)
{
	return !errands->is_paused[kind] && count_running(errands, kind, NULL) < limits[kind].max;
}

static bool user_has_room(const struct errands *errands, const struct errand *errand)
{
	return count_running(errands, errand->kind, &errand->user) <
	       limits[errand->kind].max_of_user;
}

/* Thousands in a row may be of one user: whether that one has room is asked once. */
static bool is_of_user_of(const struct errand *errand, const struct errand *other)
{
	return other && errand->user == other->user;
}

static struct errand *errand_choose(const struct errands *errands, enum errand_kind kind,
				    uint64_t now_ns)
{
	struct errand *best = NULL, *crowded = NULL, *errand;

	if (now_ns < errands->resume_ns || !kind_has_room(errands, kind))
		return NULL;
	TAILQ_FOREACH (errand, &errands->waiting[kind], queue) {
		if (errand->due_ns > now_ns)
			break;
		if (is_of_user_of(errand, best) || is_of_user_of(errand, crowded))
			continue;
		if (!user_has_room(errands, errand))
			crowded = errand;
		else if (!best || errands_prefer(errands, kind, errand->user, best->user))
			best = errand;
	}
	return best;
}

/* --- work ------------------------------------------------------------------------------------- */

/* It leaves its place among the running if there is nothing that it waits for. */
static void errand_go_on(struct errands *errands, struct errand *errand)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct errand **place = &errands->running[errand->number];
	enum errand_turn turn = errand->step(errand->closure);

	if (turn == ERRAND_RUNS) {
		/* Should that fail, its end is seen when others wake us. */
		epoll_ctl(errands->epoll, EPOLL_CTL_ADD, errand->child.pidfd, &event);
		return;
	}
	*place = NULL;
	errand->is_running = false;
	if (turn == ERRAND_REFUSED)
		errands->resume_ns = clock_mono_ns() + REFUSED_NS;
	if (turn != ERRAND_OVER)
		errands_add(errands, errand);
}

static void errand_begin(struct errands *errands, struct errand *errand)
{
	queue_remove(errands, errand);
	errand->number = errand->kind * MAX_RUNNING_ERRANDS;
	while (errands->running[errand->number])
		errand->number++;
	errands->running[errand->number] = errand;
	errand->is_running = true;
	errands->turns[turn_index(errand->user)] = ++errands->turn;
	errand_go_on(errands, errand);
}

static bool errand_may_leave(const struct errands *errands, const struct errand *errand)
{
	size_t of_user = 0;

	for (size_t i = 0; i < errands->nr_left; i++)
		of_user += errands->left[i].user == errand->user;
	return errands->nr_left < MAX_LEFT && of_user < MAX_LEFT / 2;
}

static void errand_look(struct errands *errands, struct errand *errand)
{
	struct pollfd end = { .fd = errand->child.pidfd, .events = POLLIN };

	if (poll(&end, 1, 0) <= 0) {
		if (child_timeout_ms(&errand->child))
			return;
		if (!errand->child.is_stopped) {
			child_stop(&errand->child);
			errand->child.deadline_ns = clock_mono_ns() + STOPPED_MS * NS_PER_MS;
			return;
		}
		if (!errand_may_leave(errands, errand))
			return;
		/* It goes on without a child that does not end although it was killed. */
		left_add(errands, errand);
	}
	epoll_ctl(errands->epoll, EPOLL_CTL_DEL, errand->child.pidfd, NULL);
	errand_go_on(errands, errand);
}

void errands_run(struct errands *errands)
{
	uint64_t now_ns = clock_mono_ns();
	struct errand *errand;

	left_reap(errands);
	for (unsigned int i = 0; i < NR_ERRAND_KIND * MAX_RUNNING_ERRANDS; i++) {
		errand = errands->running[i];
		if (errand)
			errand_look(errands, errand);
	}
	for (int i = 0; i < NR_ERRAND_KIND * MAX_STARTS; i++) {
		errand = errand_choose(errands, i / MAX_STARTS, now_ns);
		if (errand)
			errand_begin(errands, errand);
	}
}

int errands_fd(const struct errands *errands)
{
	return errands->epoll;
}

/* Returns the time until the next errand of a kind may begin, as poll() takes it. */
static int kind_patience_ms(const struct errands *errands, enum errand_kind kind)
{
	const struct errand *crowded = NULL, *errand;

	if (!kind_has_room(errands, kind))
		return -1;
	TAILQ_FOREACH (errand, &errands->waiting[kind], queue) {
		if (is_of_user_of(errand, crowded))
			continue;
		crowded = errand;
		if (user_has_room(errands, errand))
			return clock_until_ms(errand->due_ns > errands->resume_ns
						      ? errand->due_ns
						      : errands->resume_ns);
	}
	return -1;
}

int errands_patience_ms(const struct errands *errands)
{
	const struct errand *errand;
	int patience = -1;

	for (unsigned int i = 0; i < NR_ERRAND_KIND * MAX_RUNNING_ERRANDS; i++) {
		errand = errands->running[i];
		if (errand)
			patience =
				sooner_ms(patience, child_timeout_ms(&errand->child) ?: STOPPED_MS);
	}
	for (int kind = 0; kind < NR_ERRAND_KIND; kind++)
		patience = sooner_ms(patience, kind_patience_ms(errands, kind));
	return patience;
}

bool errands_are_idle(const struct errands *errands, enum errand_kind kind, uint64_t until_ns)
{
	const struct errand *first = TAILQ_FIRST(&errands->waiting[kind]);

	return !(first && first->due_ns < until_ns) && !count_running(errands, kind, NULL);
}

uint64_t errand_retry_ns(unsigned int failures)
{
	uint64_t pause_ns = LAST_RETRY_NS;

	if (failures && failures <= MAX_RETRY_STEP)
		pause_ns = FIRST_RETRY_NS << 2 * (failures - 1);
	return clock_mono_ns() + pause_ns;
}
