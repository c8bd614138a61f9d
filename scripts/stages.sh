# Runs the stages of `make test` beside each other. Sourced with bash after lib.sh, never run.
#
# A stage is a function stage_NAME that declares with `stage` what it needs and how much of the machine it takes. It
# runs in a process group of its own, and its output goes to a file that is printed when it ends. A guard ends the
# groups and removes the scratch folder however the script ends, kill -9 included.
#
# The caller sets `scratch` and `logs`, two folders.
# shellcheck shell=bash disable=SC2154

# Parts of the machine: a stage of 2 takes all of it, a stage of 0 waits most of the time.
readonly machine=2
progress_every=${PROGRESS_EVERY:-30}
# Seconds after which a stage is ended, and has failed.
stage_limit=${STAGE_LIMIT:-3600}

stages=() # in the order in which they begin when more than one could
declare -A part_of=() needs_of=() state_of=() pid_of=() began_of=() seconds_of=()

# stage NAME PART NEED...: declares a stage. It begins when those that it needs have passed; +NAME only runs, too.
stage() {
    stages+=("$1")
    part_of[$1]=$2
    needs_of[$1]=${*:3}
    state_of[$1]=waiting
}

# choose NAME...: leaves out every stage but these and what they need.
choose() {
    local name wanted=" $* " kept=()
    for name in "$@"; do [ -n "${state_of[$name]:-}" ] || fail "No stage is called $name. There are: ${stages[*]}"; done
    # A stage is declared after those that it needs.
    for ((i = ${#stages[@]} - 1; i >= 0; i--)); do
        name=${stages[i]}
        [[ $wanted == *" $name "* ]] || continue
        wanted+="${needs_of[$name]//+/} "
        kept=("$name" "${kept[@]}")
    done
    stages=("${kept[@]}")
}

# is_chosen NAME...: whether one of these stages runs.
is_chosen() {
    local name
    for name in "$@"; do [[ " ${stages[*]} " != *" $name "* ]] || return 0; done
    return 1
}

# in_state STATE: prints the stages in this state.
in_state() {
    local name
    for name in "${stages[@]}"; do [ "${state_of[$name]}" != "$1" ] || echo "$name"; done
}

# end_groups PID...: sends TERM to these process groups, and KILL after fifteen seconds.
end_groups() {
    local pid
    for pid in "$@"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
    for pid in "$@"; do
        wait_until 15 group_is_gone "$pid" || kill -KILL -- "-$pid" 2>/dev/null || true
    done
}
group_is_gone() { ! kill -0 -- "-$1" 2>/dev/null; }

# guard: reads "+PID" and "-PID" until its input ends, which it does when the script has ended.
guard() {
    local line groups=
    trap '' INT TERM HUP
    while read -r line; do
        case $line in
        +*) groups+=" ${line#+}" ;;
        -*) groups=$(tr ' ' '\n' <<<"$groups" | grep -vx -- "${line#-}" | paste -sd ' ') ;;
        esac
    done
    # shellcheck disable=SC2086 # a list of numbers
    end_groups $groups
    rm -rf "$scratch"
}

open_guard() {
    exec {guarded}> >(guard)
    guard_pid=$!
    trap close_guard EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}
close_guard() {
    exec {guarded}>&-
    wait "$guard_pid" || true
}

begin_stage() {
    local name=$1
    set -m # a process group of its own; Ctrl-C reaches this script alone, and the guard ends the groups
    (
        set +m
        exec {guarded}>&-
        this_stage=$name
        trap 'times >"$scratch/times.$this_stage"' EXIT
        ("stage_$name")
    ) >"$logs/$name.log" 2>&1 </dev/null &
    set +m
    pid_of[$name]=$!
    echo "+$!" >&"$guarded"
    began_of[$name]=$SECONDS
    state_of[$name]=running
}

# ended_stage NAME STATUS
ended_stage() {
    local name=$1 pid=${pid_of[$1]}
    seconds_of[$name]=$((SECONDS - began_of[$name]))
    state_of[$name]=passed
    [ "$2" -eq 0 ] || state_of[$name]=failed
    # What a stage has left behind ends with it.
    kill -KILL -- "-$pid" 2>/dev/null || true
    echo "-$pid" >&"$guarded"
    step "$name: ${state_of[$name]} after ${seconds_of[$name]} s"
    shown "$logs/$name.log"
}

# shown LOG: prints it without the lines that say that all is well.
shown() {
    grep -vE '^test .* \.\.\. (ok|ignored.*)$|^ *(Compiling|Downloading|Downloaded|Executable|Updating) |^(Get:|Selecting |Preparing to unpack |Unpacking |Setting up )|^$' "$1" || true
}

# take_ended: notes the stages that have ended, and ends those that have taken too long.
take_ended() {
    local name status
    for name in $(in_state running); do
        if running "${pid_of[$name]}"; then
            [ $((SECONDS - began_of[$name])) -ge "$stage_limit" ] || continue
            echo "*** It had not ended after $stage_limit s (STAGE_LIMIT), and was ended." >>"$logs/$name.log"
            end_groups "${pid_of[$name]}"
        fi
        status=0
        wait "${pid_of[$name]}" 2>/dev/null || status=$?
        ended_stage "$name" "$status"
    done
}

# begin_ready: begins the stages that are due, in their order, as far as the machine has room. One that has to wait
# for room lets only those go ahead that take none.
begin_ready() {
    local name need used=0 due
    for name in $(in_state running); do used=$((used + part_of[$name])); done
    for name in $(in_state waiting); do
        due=yes
        for need in ${needs_of[$name]}; do
            case ${state_of[$need]:-beside} in # nothing is called +NAME
            failed | left) state_of[$name]=left ;;
            waiting | running) due= ;;
            esac
        done
        if [ "${state_of[$name]}" = left ]; then
            step "$name: not run, because what it needs has failed"
        elif [ -n "$due" ] && { [ $((used + part_of[$name])) -le "$machine" ] || [ "${part_of[$name]}" -eq 0 ]; }; then
            begin_stage "$name"
            used=$((used + part_of[$name]))
        elif [ -n "$due" ]; then
            used=$machine
        fi
    done
}

progress() {
    local name text=
    for name in $(in_state running); do text+=", $name for $((SECONDS - began_of[$name])) s"; done
    name=$(in_state waiting | paste -sd ' ')
    say "[$((SECONDS / 60)):$(printf %02d $((SECONDS % 60)))] Running: ${text#, }.${name:+ Waiting: $name.}"
}

# run_stages: runs them all.
run_stages() {
    local told=$SECONDS
    begin_ready
    while [ -n "$(in_state running)" ]; do
        sleep 1
        take_ended
        begin_ready
        if [ $((SECONDS - told)) -ge "$progress_every" ] && [ -n "$(in_state running)" ]; then
            progress
            told=$SECONDS
        fi
    done
}

# processor_seconds TIMES: the sum of what `times` has printed, in whole seconds.
processor_seconds() {
    [ -e "$1" ] || return 0 # it was killed
    tr ' ' '\n' <"$1" | awk -F '[ms]' '{ s += 60 * $1 + $2 } END { printf "%.0f", s }'
}

# stage_times: prints how long each stage took, from when on, and the processor time of what it waited for.
stage_times() {
    local name processor
    for name in "${stages[@]}"; do
        case ${state_of[$name]} in
        passed | failed)
            processor=$(processor_seconds "$scratch/times.$name")
            printf '    %5d s from %5d s, %5s s of processor time   %s%s\n' "${seconds_of[$name]}" "${began_of[$name]}" "$processor" "$name" "$([ "${state_of[$name]}" = passed ] || echo ': FAILED')"
            ;;
        *) printf '    %46s %s\n' "not run" "$name" ;;
        esac
    done
    printf '    %5d s altogether\n' "$SECONDS"
}
