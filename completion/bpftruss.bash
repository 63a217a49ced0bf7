# SPDX-License-Identifier: BSD-2-Clause
# Completion of bpftruss(8) for bash. Verbs, options and words come from the program: options_print_completion()
# in src/cmd/options.h says what a line has.

# The lines for a verb ("" for the truss face), or the verbs; of the program that is being typed, if it is there.
_bpftruss_ask()
{
	local program

	program=$(type -P "${COMP_WORDS[0]}") || program=bpftruss
	"$program" --complete "$@" 2>/dev/null
}

_bpftruss()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb="" verbs options="" first=1 i
	local -A hints=() words=()

	COMPREPLY=()

	verbs=" $(_bpftruss_ask | cut -f1 | tr '\n' ' ')"
	if [[ $COMP_CWORD -gt 1 && "$verbs" == *" ${COMP_WORDS[1]} "* ]]; then
		verb=${COMP_WORDS[1]} first=2
	fi
	_bpftruss_read
	# Behind a command, its own words.
	for ((i = first; !${#verb} && i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i + 1]} == "=" ]]; then
			((i += 2))
		elif [[ ${hints[${COMP_WORDS[i]}]-flag} != @(flag|optional) ]]; then
			((i++))
		elif [[ ${COMP_WORDS[i]} != -* ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			else
				compopt -o default
			fi
			return
		fi
	done
	# bash makes three words of --option=argument.
	if [[ $word == "=" && -n ${hints[$previous]-} ]]; then
		_bpftruss_argument "$previous" ""
	elif [[ $previous == "=" && -n ${hints[${COMP_WORDS[COMP_CWORD - 2]}]-} ]]; then
		_bpftruss_argument "${COMP_WORDS[COMP_CWORD - 2]}" "$word"
	elif [[ $COMP_CWORD -gt $first && ${hints[$previous]-flag} != @(flag|optional) ]]; then
		_bpftruss_argument "$previous" "$word"
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
	else
		_bpftruss_word "$word"
	fi
}

# Fills options, hints and words, by name, of $verb.
_bpftruss_read()
{
	local names hint list name

	while IFS=$'\t' read -r names hint _ list; do
		options+=" $names"
		for name in $names; do
			hints[$name]=$hint words[$name]=$list
		done
	done < <(_bpftruss_ask "$verb")
}

# Completes what is no option of $verb: a command, two sides to compare, a baseline.
_bpftruss_word()
{
	case "$verb" in
	compare)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -W "now $(_bpftruss_baselines)" -- "$1")
		;;
	baseline)
		if [[ $COMP_CWORD == 2 ]]; then
			mapfile -t COMPREPLY < <(compgen -W "save list show rm" -- "$1")
		elif [[ ${COMP_WORDS[2]} != list ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_bpftruss_baselines)" -- "$1")
		fi
		;;
	recorder) mapfile -t COMPREPLY < <(compgen -W "dump" -- "$1") ;;
	report | merge)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$1")
		;;
	help) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$1") ;;
	"")
		# Verbs come first; all commands of the system would hide them.
		compopt -o nosort 2>/dev/null
		((COMP_CWORD > 1)) || mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$1")
		[[ -z $1 ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$1" | sort -u)
		;;
	*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$1") ;;
	esac
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

# Completes $2 as the argument of the option $1.
_bpftruss_argument()
{
	local list=${words[$1]}

	case "${hints[$1]}" in
	word) mapfile -t COMPREPLY < <(compgen -W "$list" -- "$2") ;;
	list | optional) _bpftruss_list "$2" "$list" ;;
	file) mapfile -t COMPREPLY < <(compgen -f -W "$list" -- "$2") ;;
	name) _bpftruss_name "$1" "$2" ;;
	esac
}

# Completes the last word of $1, a list such as calls,-p99 or !open, from the words in $2.
_bpftruss_list()
{
	local last=${1##*,} before

	last=${last#"${last%%[^-+!?=]*}"}
	before=${1:0:${#1}-${#last}}
	# The list goes on, or ends.
	compopt -o nospace 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "$last")
}

# Completes $2 as something that has a name or number on this machine.
_bpftruss_name()
{
	case "$1" in
	-p | --pid) _bpftruss_list "$2" "$(cd /proc && echo [0-9]*)" ;;
	-n | --name) mapfile -t COMPREPLY < <(compgen -W "$(sort -u /proc/[0-9]*/comm 2>/dev/null)" -- "$2") ;;
	-u | --unit)
		mapfile -t COMPREPLY < <(compgen -W "$(systemctl list-units --plain --no-legend \
			2>/dev/null | cut -d' ' -f1)" -- "$2")
		;;
	-g | --cgroup) mapfile -t COMPREPLY < <(compgen -d -- "${2:-/sys/fs/cgroup/}") ;;
	--container)
		mapfile -t COMPREPLY < <(compgen -W "$(find /sys/fs/cgroup -type d \
			! -name '*conmon*' 2>/dev/null |
			sed -nE 's/.*[-/:]([0-9a-f]{12})[0-9a-f]{52}(\.scope)?$/\1/p')" -- "$2")
		;;
	-U | --user) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	--group) mapfile -t COMPREPLY < <(compgen -g -- "$2") ;;
	esac
}

complete -F _bpftruss bpftruss
