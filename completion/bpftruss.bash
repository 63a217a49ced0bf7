# SPDX-License-Identifier: BSD-2-Clause
# Completion of bpftruss(8) for bash. scripts/check-docs keeps the options equal to --help.

_bpftruss()
{
	local options="-c --count -p --pid -f --follow -t --trace -o --output -d --duration --json
		--max-tasks --max-rows --max-errnos -v --verbose -V --version -h --help"
	local classes="%file %desc %network %memory %process %signal %ipc %io %creds %clock
		%stat %lstat %fstat %statfs %fstatfs all"
	local of_top="-i --interval --by --sort --top --once --json -p --pid -n --name -u --unit
		-g --cgroup -U --user -a --all --wait -f --follow --max-tasks --max-rows
		-v --verbose -h --help"
	local columns="pid comm user unit threads calls errors usr sys runq sleep max oldest"
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local i before

	if [[ ${COMP_WORDS[1]} == doctor && $COMP_CWORD -gt 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "--json -v --verbose -h --help" -- "$word")
		return
	fi
	if [[ ${COMP_WORDS[1]} == top && $COMP_CWORD -gt 1 ]]; then
		case "$previous" in
		-p | --pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word") ;;
		-U | --user) mapfile -t COMPREPLY < <(compgen -u -- "$word") ;;
		-g | --cgroup) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
		--by) mapfile -t COMPREPLY < <(compgen -W "pid comm unit" -- "$word") ;;
		--sort) mapfile -t COMPREPLY < <(compgen -W "$columns" -- "$word") ;;
		-i | --interval | -n | --name | -u | --unit | --top | --max-*) COMPREPLY=() ;;
		*) mapfile -t COMPREPLY < <(compgen -W "$of_top" -- "$word") ;;
		esac
		return
	fi
	# Behind a command, its own words.
	for ((i = 1; i < COMP_CWORD; i++)); do
		before=${COMP_WORDS[i]}
		case "$before" in
		-p | --pid | -t | --trace | -o | --output | -d | --duration | --max-*) ((i++)) ;;
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
	case "$previous" in
	-p | --pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word") ;;
	-t | --trace) mapfile -t COMPREPLY < <(compgen -W "$classes" -- "$word") ;;
	-o | --output) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	-d | --duration | --max-*) COMPREPLY=() ;;
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$word")
			if [[ $COMP_CWORD == 1 ]]; then
				mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "doctor top" -- "$word")
			fi
		fi
		;;
	esac
}

complete -F _bpftruss bpftruss
