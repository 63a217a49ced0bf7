# SPDX-License-Identifier: BSD-2-Clause
# Completion of bpftruss(8) for fish. Verbs, options and words come from the program, once, when this is
# loaded: options_print_completion() in src/cmd/options.h says what a line has.

# The verb that is being typed; "" is the truss face.
function __bpftruss_is
    set -l verb (commandline -opc)[2]
    contains -- "$verb" $__bpftruss_verbs; or set verb ""
    test "$verb" = "$argv[1]"
end

# Where the command of the truss face begins among the words before the cursor; fails if there is none yet.
function __bpftruss_command_at
    set -l typed (commandline -opc)
    set -l i 2
    while test $i -le (count $typed)
        if contains -- $typed[$i] $__bpftruss_with_argument
            set i (math $i + 1)
        else if not string match -q -- '-*' $typed[$i]
            echo $i
            return
        end
        set i (math $i + 1)
    end
    return 1
end

# Verbs come from elsewhere; all commands of the system would hide them.
function __bpftruss_command
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    if set -l at (__bpftruss_command_at)
        complete -C (string join ' ' -- (string escape -- $typed[$at..-1]) (string escape -- $word | string replace -r "^''\$" ''))
    else if test -n "$word"; and not string match -q -- '-*' $word
        complete -C $word
    end
end

# Whether the next word is the first, or the one behind a verb.
function __bpftruss_at
    test (count (commandline -opc)) = $argv[1]
end

# The words with what stands before the last one of a list such as calls,-p99 or !open.
function __bpftruss_list
    set -l before (commandline -ct | string replace -r -- '^--[^=]*=' '' | string match -r -- '^(?:.*,)?[-+!?=]*')
    printf '%s\n' "$before"$argv
end

# What has a name or number on this machine, by the option that wants it.
function __bpftruss_name
    switch $argv[1]
        case pid
            __bpftruss_list (__fish_complete_pids)
        case name
            sort -u /proc/*/comm 2>/dev/null
        case unit
            systemctl list-units --plain --no-legend 2>/dev/null | string replace -r '^(\S+)\s+\S+\s+\S+\s+\S+\s+(.*)' '$1\t$2'
        case cgroup
            set -l word (commandline -ct | string replace -r -- '^--[^=]*=' '')
            test -n "$word"; or set word /sys/fs/cgroup/
            __fish_complete_directories $word
        case container
            find /sys/fs/cgroup -type d ! -name '*conmon*' 2>/dev/null | string replace -fr '.*[-/:]([0-9a-f]{12})[0-9a-f]{52}(\.scope)?$' '$1'
        case user
            __fish_complete_users
        case group
            __fish_complete_groups
    end
end

# Names that the daemon knows, if it answers at once.
function __bpftruss_baselines
    set -l socket /run/bpftruss/bpftruss.sock
    set -l typed (commandline -opc)
    if set -l at (contains -i -- --socket $typed)
        set socket $typed[(math $at + 1)]
    end
    test -S "$socket" -a -w "$socket"; or return
    timeout 0.3 bpftruss baseline list --json --socket $socket 2>/dev/null | string match -ra '"name": ?"[^"]+"' | string split -f4 '"'
end

# One option of a verb: its names, what completes it, what it is for, words.
function __bpftruss_option --argument-names verb names hint about words
    set -l define complete -c bpftruss -n "__bpftruss_is '$verb'; and not __bpftruss_command_at >/dev/null"
    test -z "$verb"; or set define complete -c bpftruss -n "__bpftruss_is $verb"
    for name in (string split ' ' -- $names)
        switch $name
            case '--*'
                set -a define -l (string sub -s 3 -- $name)
            case '*'
                set -a define -s (string sub -s 2 -- $name)
        end
    end
    set -a define -d $about
    switch $hint
        case optional
            set -a define -a "(__bpftruss_list $words)"
        case word
            set -a define -x -a $words
        case list
            set -a define -x -a "(__bpftruss_list $words)"
        case file
            set -a define -rF -a $words
        case name
            set -a define -x -a "(__bpftruss_name "(string match -r -- '(?<=--)\S+' $names)")"
        case none
            set -a define -x
    end
    $define
end

set -g __bpftruss_verbs
set -g __bpftruss_with_argument
complete -c bpftruss -e
complete -c bpftruss -f
complete -c bpftruss -k -n "__bpftruss_is ''" -a "(__bpftruss_command)"
bpftruss --complete 2>/dev/null | while read -l -d \t verb about
    set -a __bpftruss_verbs $verb
    complete -c bpftruss -k -n "__bpftruss_at 1" -a $verb -d $about
    complete -c bpftruss -n "__bpftruss_is help; and __bpftruss_at 2" -a $verb -d $about
end
for verb in '' $__bpftruss_verbs
    test "$verb" = help; and continue
    bpftruss --complete "$verb" 2>/dev/null | while read -l -d \t names hint about words
        if test -z "$verb"; and not contains -- $hint flag optional
            set -a __bpftruss_with_argument (string split ' ' -- $names)
        end
        __bpftruss_option "$verb" "$names" "$hint" "$about" "$words"
    end
end
complete -c bpftruss -n "__bpftruss_is compare" -F -a "now (__bpftruss_baselines)"
complete -c bpftruss -n "__bpftruss_is report; or __bpftruss_is merge" -F
complete -c bpftruss -n "__bpftruss_is recorder; and __bpftruss_at 2" -a "dump"
complete -c bpftruss -n "__bpftruss_is baseline; and __bpftruss_at 2" -a "save list show rm"
complete -c bpftruss -n "__bpftruss_is baseline; and not __bpftruss_at 2" -a "(__bpftruss_baselines)"
