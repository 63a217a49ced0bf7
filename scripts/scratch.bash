# SPDX-License-Identifier: BSD-2-Clause
# Sourced: asks for /proc and /sys; makes a temporary folder, $scratch, that is gone at the end, whatever
# signal brings that about and whenever; jobs in the background end before it.

# Servers read what is made here, and run as other users.
umask 022

# need_mount NAME FILE TYPE DIR: where there is no such file, nothing is mounted on the folder.
need_mount()
{
	[ ! -e "$2" ] || return 0
	echo "$1: nothing is mounted on $4: run 'mount -t $3 $3 $4' first" >&2
	exit 1
}

# need_mounts NAME: a plain chroot has neither.
need_mounts()
{
	need_mount "$1" /proc/self proc /proc
	need_mount "$1" /sys/kernel sysfs /sys
}

# Prints the folder to make ours in: TMPDIR, if those users can enter it, and if its name can stand in any
# configuration and command.
scratch_place()
{
	local place parent
	place=$(realpath -m -- "${TMPDIR:-/tmp}")
	parent=$place
	while [ "$parent" != / ] && ((0$(stat -c %a -- "$parent" 2>/dev/null) & 1)); do
		parent=$(dirname -- "$parent")
	done
	if [ "$parent" = / ] && [[ $place != *[!-[:alnum:]/._+]* ]]; then
		echo "$place"
	else
		echo "$1: files are in /tmp: other users cannot enter $place, or its name has unusual characters" >&2
		echo /tmp
	fi
}

# scratch_make NAME SIGNAL: the signal is what jobs are ended with.
scratch_make()
{
	local place
	place=$(scratch_place "$1")
	scratch='' scratch_signal=$2 scratch_state=making scratch_caught=''
	trap scratch_remove EXIT
	# Once only: while bash changes a trap, it ignores the signal.
	trap scratch_interrupted INT TERM HUP
	# From the moment that the folder is there until its name is known: mktemp hears nothing, and the
	# signal is obeyed after it.
	scratch=$(trap '' INT TERM HUP && exec mktemp -d -p "$place" "bpftruss-$1.XXXXXX")
	scratch_state=made
	[ -z "$scratch_caught" ] || exit 1
}

scratch_interrupted()
{
	if [ "$scratch_state" = making ]; then
		scratch_caught=yes
		return
	fi
	scratch_remove
	exit 1
}

# job_start COMMAND...: in the background, as a process group of its own, so that all of it can be ended.
job_start()
{
	set -m
	"$@" &
	set +m
}

# job_end JOB SIGNAL: whether it is gone within 10 seconds. What runs as root only root can end.
job_end()
{
	local i
	kill "-$2" -- "-$1" 2>/dev/null
	as_root kill "-$2" -- "-$1" 2>/dev/null
	# Not wait: in the handler of a signal it returns at once.
	for ((i = 0; i < 200; i++)); do
		grep -qs '^State:.[^Z]' "/proc/$1/status" || return 0
		sleep 0.05
	done
	return 1
}

# A signal may interrupt this; the handler of that signal then does all of it again.
scratch_remove()
{
	local job
	trap '' INT TERM HUP
	set +e
	for job in $(jobs -p); do
		job_end "$job" "$scratch_signal" || job_end "$job" KILL ||
			echo "cannot end what was started: process group $job" >&2
	done
	[ -z "$scratch" ] || rm -rf "$scratch" 2>/dev/null || as_root rm -rf "$scratch"
}

# Without a question: that would wait for a terminal which a job in the background does not have.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}
