#!/usr/bin/env bash
# Counts the instructions of one decision, prints them as a table and fails where one is past its bound.
#
# Method: `benches/instructions/` is built with -O3 and one codegen unit, without link-time optimisation. Each of its
# scenarios clones a machine and lets the clone decide, as often as it is told. callgrind counts the instructions of two
# runs of different lengths; their difference, divided by the difference of the lengths, is what one round costs, and
# repeats to the instruction. What a round costs that only clones is subtracted.
#
# So a figure is that of the first retry of a fresh machine with the default backoff: its one call of `decide`, the
# event and, where there are header pairs, `RetryHeaders::from_pairs` over the 15 of them included. The response and the
# machine are behind `black_box`.
#
# Needs cargo and valgrind (Debian: apt-get install valgrind).
set -euo pipefail
unset CARGO_TARGET_DIR
cd "$(dirname "$0")/instructions"
export LC_ALL=C

command -v valgrind > /dev/null || { echo "valgrind is not installed" >&2; exit 2; }
cargo build --release --quiet

# instructions PROGRAM SCENARIO ROUNDS: of one run.
instructions() {
    env -i PATH=/usr/bin:/bin valgrind --tool=callgrind --callgrind-out-file=/dev/null "target/release/$1" "$2" "$3" 2>&1 |
        sed -n 's/.*Collected : //p'
}

# decision PROGRAM SCENARIO [ROUNDS]: of one decision.
decision() {
    local rounds=${3:-1000}
    local short long
    short=$(instructions "$1" "$2" "$rounds")
    long=$(instructions "$1" "$2" $((2 * rounds)))
    echo $(((long - short) / rounds - ${clone:-0}))
}

failed=0

# row WHAT INSTRUCTIONS BOUND
row() {
    local verdict=''
    if (($2 > $3)); then
        verdict=' **past its bound**'
        failed=1
    fi
    echo "| $1 | $2$verdict | $3 |"
}

clone=$(decision bare clone)
no_header=$(decision bare no-header)
megabyte=$(decision headers megabyte 1)

echo '| one decision | instructions | bound |'
echo '| --- | ---: | ---: |'
row 'no header: backoff' "$no_header" 230
row 'status not retried' "$(decision bare not-retried)" 60
row '`Retry-After: 120` among 15 header pairs' "$(decision headers seconds)" 650
row 'an IMF-fixdate among them' "$(decision headers imf-fixdate)" 1400
row 'retry 1,000, beyond retry 1' $(($(decision bare retry-1000) - no_header)) 60
row '1 MB of digits, for each byte' $((megabyte / 1000000)) 16
row '2 MB of digits, beyond twice 1 MB' $(($(decision headers two-megabytes 1) - 2 * megabyte)) 1000
echo
echo "(A clone of the machine, subtracted: $clone.)"

# The check itself is checked: a planted slow loop has to show.
if (($(decision bare planted-slow-loop) <= 230)); then
    echo 'a planted slow loop went unseen' >&2
    failed=1
fi
exit "$failed"
