# Counts the tests in the output of `cargo test` by the servers they ran on:
# passed <tab> failed <tab> not run <tab> group. An integration test has its engine in its path or at its end
# (`conformance::mariadb::a_page_is_full`, `.._on_mariadb`). Redis may come beside an engine, anywhere in the name.
# Other tests are grouped by their binary.

/^ *Running / {
    binary = $0
    sub(/^ *Running (unittests )?/, "", binary)
    sub(/ \(.*/, "", binary)
}
/^ *Doc-tests / { binary = "documentation of " $NF }

/^test .* \.\.\. / {
    name = $0
    sub(/^test /, "", name)
    sub(/ \.\.\. .*/, "", name)
    group = group_of(binary, name)
    if (!(group in seen)) {
        seen[group] = 1
        order[++groups] = group
    }
    if ($0 ~ / \.\.\. ok$/) passed[group]++
    else if ($0 ~ / \.\.\. ignored/) unrun[group]++
    else failed[group]++
}

END {
    for (i = 1; i <= groups; i++) {
        group = order[i]
        printf "%d\t%d\t%d\trust: %s\n", passed[group], failed[group], unrun[group], group
    }
}

function group_of(binary, name) {
    if (binary == "src/lib.rs") return "unit tests"
    if (binary == "tests/tidy.rs") return "the repository's own rules"
    if (binary !~ /^tests\//) return binary
    sub(/^tests\//, "", binary)
    sub(/(\/main)?\.rs$/, "", binary)
    engine = engine_of(name)
    redis = name !~ /redis/ ? "" : name ~ /cluster/ ? "Redis Cluster" : "Redis"
    if (engine != "" && redis != "") return binary " on " engine " with " redis
    if (engine != "" || redis != "") return binary " on " engine redis
    if (name ~ /(^|::)memory::/) return binary " in memory"
    return binary
}

function engine_of(name) {
    if (name ~ /(^|::|_on_|::on_)mysql(::|$)/) return "MySQL 9"
    if (name ~ /(^|::|_on_|::on_)mariadb(::|$)/) return "MariaDB"
    if (name ~ /(^|::|_on_|::on_)sqlite(::|$)/) return "SQLite"
    return ""
}
