# SPDX-License-Identifier: BSD-2-Clause
# Completion of bpftruss(8) for bash. scripts/check-docs keeps the options equal to --help.

# Lists of options are found by the name of their verb.
# shellcheck disable=SC2034
_bpftruss()
{
	local options="-c --count -p --pid -n --name -u --unit -g --cgroup -U --user -a --all --wait
		-f --follow -t --trace -o --output -d --duration -i --interval -N --number
		-w --wide --hist --errors --csv --json --format --chart --by --sort --top --columns
		--min-calls --errors-only --waiting --stacks --kernel-stacks --slower-than --inline
		--debuginfod --folded --pprof --flame --keep-exited --max-tasks --max-rows
		--max-errnos --max-stacks -v --verbose -V --version -h --help"
	local top_options="-i --interval --by --sort --top --once --json -p --pid -n --name -u --unit
		-g --cgroup -U --user -a --all --wait -f --follow --max-tasks --max-rows
		-v --verbose -h --help"
	local doctor_options="--json -v --verbose -h --help"
	local daemon_options="--socket --state-dir --group --recent --budget -v --verbose
		-p --pid -n --name -u --unit -g --cgroup -U --user -a --all -f --follow
		--stacks --kernel-stacks --inline --debuginfod --keep-exited --max-tasks --max-rows
		--max-errnos --max-stacks --no-history -i --interval --keep --keep-10m --keep-1h
		--history-size --listen --metrics-by --metrics-top --metrics-series --no-histograms
		--config --check-config -h --help"
	local snapshot_options="--since -p --pid -n --name -u --unit -g --cgroup -U --user -a --all
		-t --trace -o --output -w --wide --hist --errors --csv --json --format --chart
		--by --sort --top --columns --min-calls --errors-only --waiting --stacks
		--folded --pprof --flame --socket --state-dir -h --help"
	local status_options="--json --socket --state-dir -h --help"
	local history_options="--from --to --step -p --pid -n --name -u --unit -g --cgroup -U --user
		-a --all -t --trace --json --csv --waiting --socket --state-dir -h --help"
	local baseline_options="--from --to --replace --json --socket --state-dir -h --help"
	local compare_options="--fail-over -p --pid -n --name -u --unit -g --cgroup -U --user -a --all
		-t --trace --json --by --top --waiting --socket --state-dir -h --help"
	local verbs="baseline compare daemon doctor history snapshot status top"
	local classes="%file %desc %network %memory %process %signal %ipc %io %creds %clock
		%stat %lstat %fstat %statfs %fstatfs all"
	local formats="truss wide json csv strace errors"
	local keys="pid tid comm unit user syscall abi arg0"
	local columns="pid tid comm unit user abi syscall arg0 calls errors err% interrupted no_return
		untimed in_flight oldest time% total cpu runq sleep min avg p50 p90 p99 max bytes"
	local top_keys="pid comm unit"
	local top_columns="pid comm user unit threads calls errors cpu usr sys runq lock sleep max oldest"
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local i before

	if [[ $COMP_CWORD -gt 1 && " $verbs " == *" ${COMP_WORDS[1]} "* ]]; then
		_bpftruss_verb "${COMP_WORDS[1]}" "$previous" "$word"
		return
	fi
	# Behind a command, its own words.
	for ((i = 1; i < COMP_CWORD; i++)); do
		before=${COMP_WORDS[i]}
		case "$before" in
		-[pnugUtodiN] | --pid | --name | --unit | --cgroup | --user | --trace | --output | \
			--duration | --interval | --number | --format | --chart | --by | --sort | \
			--slower-than | --folded | --pprof | --flame | --top | --columns | --waiting | --min-calls | --keep-exited | --max-*)
			((i++))
			;;
		-*) ;;
		*)
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			else
				compopt -o default
			fi
			return
			;;
		esac
	done
	_bpftruss_argument "$previous" "$word" && return
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
		if [[ $COMP_CWORD == 1 ]]; then
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$verbs" -- "$word")
		fi
	fi
}

# Completes $3 after $2 behind the verb $1, in the words that _bpftruss has set.
_bpftruss_verb()
{
	local verb_options=$1_options

	options=${!verb_options}
	case "$1" in
	top) keys=$top_keys columns=$top_columns ;;
	snapshot | compare) keys="pid comm unit user syscall abi" ;;
	esac
	_bpftruss_argument "$2" "$3" && return
	if [[ $3 == -* || " baseline compare " != *" $1 "* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$3")
	elif [[ $1 == compare ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -W "now $(_bpftruss_baselines)" -- "$3")
	elif [[ $COMP_CWORD == 2 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "save list rm" -- "$3")
	elif [[ ${COMP_WORDS[2]} != list ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_bpftruss_baselines)" -- "$3")
	fi
}

# Names that the daemon knows, if it answers at once.
_bpftruss_baselines()
{
	local socket=/run/bpftruss/bpftruss.sock i

	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i - 1]} == --socket ]] && socket=${COMP_WORDS[i]}
	done
	[[ -S $socket && -w $socket ]] || return
	timeout 0.3 bpftruss baseline list --json --socket "$socket" 2>/dev/null |
		grep -oE '"name": ?"[^"]+"' | cut -d'"' -f4
}

# The last word of a list such as calls,p99 goes on with what stands before it.
_bpftruss_list()
{
	local before=""

	[[ $2 == *,* ]] && before=${2%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${2##*,}")
}

# Completes $2 as the argument of the option $1, in the words that _bpftruss has set; fails when
# the option takes none.
_bpftruss_argument()
{
	local cgroups=/sys/fs/cgroup

	case "$1" in
	-p | --pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$2") ;;
	-n | --name) mapfile -t COMPREPLY < <(compgen -W "$(sort -u /proc/[0-9]*/comm 2>/dev/null)" -- "$2") ;;
	-u | --unit)
		mapfile -t COMPREPLY < <(compgen -W "$(systemctl list-units --plain --no-legend \
			2>/dev/null | cut -d' ' -f1)" -- "$2")
		;;
	-g | --cgroup) mapfile -t COMPREPLY < <(compgen -d -- "${2:-$cgroups/}") ;;
	-U | --user) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	-t | --trace | --waiting) mapfile -t COMPREPLY < <(compgen -W "$classes" -- "$2") ;;
	-o | --output | --chart | --folded | --pprof | --flame | --socket | --config) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	--since) mapfile -t COMPREPLY < <(compgen -f -W "10m 1h BOOT" -- "$2") ;;
	--step) mapfile -t COMPREPLY < <(compgen -W "1m 10m 1h 1d all" -- "$2") ;;
	--state-dir) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
	--group) mapfile -t COMPREPLY < <(compgen -g -- "$2") ;;
	--metrics-by) mapfile -t COMPREPLY < <(compgen -W "unit cgroup comm pid" -- "$2") ;;
	--format) mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$2") ;;
	--by) _bpftruss_list "$keys" "$2" ;;
	--sort) mapfile -t COMPREPLY < <(compgen -W "$columns" -- "$2") ;;
	--columns) _bpftruss_list "$columns" "$2" ;;
	-d | --duration | -i | --interval | -N | --number | --top | --min-calls | --max-* | \
		--keep | --keep-* | --history-size | --recent | --budget | --listen | --metrics-* | \
		--from | --to | --fail-over | --slower-than)
		COMPREPLY=()
		;;
	*) return 1 ;;
	esac
}

complete -F _bpftruss bpftruss
