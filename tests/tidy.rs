//! The repository's own rules, as a table. A rule that is broken fails by its name, with every place and the remedy.
//! Each rule brings small files that break it and small files that keep it, so that no rule can fall asleep.

mod tidy {
    pub mod rules;
    pub mod rust;
    pub mod tree;
}

use std::sync::LazyLock;

use tidy::rules::{
    Rule, docs, engine, glossary, imports, layers, mission, named, prose, references, replicas, resolvers, sizes,
    targets, transport, walks, words,
};
use tidy::tree::Tree;

static REPOSITORY: LazyLock<std::io::Result<Tree>> = LazyLock::new(Tree::of_the_repository);

/// One test per rule, and the list of them all.
macro_rules! table {
    ($($name:ident: $rule:path,)+) => {
        const TABLE: &[(&str, &Rule)] = &[$((stringify!($name), &$rule)),+];
        $(#[test]
        fn $name() {
            hold(stringify!($name), &$rule);
        })+
    };
}

table! {
    dependencies_point_one_way: layers::ONE_WAY,
    only_the_composition_root_names_adapters: layers::ADAPTERS,
    each_library_stays_in_its_place: layers::LIBRARIES,
    the_domain_is_pure_and_sync: layers::PURE_DOMAIN,
    resolvers_call_no_port_that_writes: resolvers::WRITES,
    one_engine_makes_pages: engine::ONE_ENGINE,
    only_what_is_shown_is_read_on_replicas: replicas::READ_THERE,
    no_value_hides_its_type: engine::NO_ANY,
    nothing_branches_on_an_errors_wording: engine::NO_WORDING,
    no_file_imports_itself_through_others: imports::CYCLES,
    no_file_of_the_transport_imports_itself_through_others: transport::CYCLES,
    the_transport_knows_nothing_of_the_product: transport::PRODUCT,
    every_file_opens_with_what_it_is: words::OPENING,
    no_work_is_left_as_a_remark: words::REMARKS,
    names_say_what_they_name: words::NAMES,
    names_are_the_fields_terms: words::TERMS,
    lines_end_before_column_120: prose::WIDTH,
    prose_repeats_no_formula: prose::FORMULAS,
    what_is_cited_can_be_opened: prose::CITATIONS,
    errors_are_fragments_or_sentences: prose::ERRORS,
    lints_are_expected_never_allowed: words::ALLOWS,
    test_names_are_sentences: words::SENTENCES,
    no_path_of_one_machine_is_written_down: words::MACHINE_PATHS,
    files_stay_small: sizes::FILES,
    functions_stay_short: sizes::FUNCTIONS,
    links_between_documents_resolve: docs::LINKS,
    tests_that_documents_name_exist: docs::PROOFS,
    code_that_documents_name_exists: named::CODE,
    every_broken_rule_has_its_row: named::BROKEN_RULES,
    each_walk_leads_through_few_files: walks::SHORT,
    anchors_that_are_cited_exist: references::ANCHORS,
    the_glossary_explains_each_term_in_italics: glossary::ITALICS,
    the_glossary_explains_the_names_of_the_domain: glossary::MODULES,
    every_table_and_column_is_described: references::TABLES,
    every_demand_names_the_tests_that_show_it: mission::DEMANDS_SHOWN,
    every_test_and_example_is_run: targets::RUN,
}

fn hold(name: &str, rule: &Rule) {
    let tree = match &*REPOSITORY {
        Ok(tree) => tree,
        Err(error) => return assert_eq!(error.to_string(), "", "the repository could not be read"),
    };
    let findings = (rule.check)(tree);
    let list = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  ");
    assert!(findings.is_empty(), "{name}:\n  {list}\nRemedy: {}", rule.remedy);
}

#[test]
fn every_rule_catches_what_breaks_it() {
    for (name, rule) in TABLE {
        assert!(!rule.broken_by.is_empty(), "{name} shows nothing that it would catch");
        for files in rule.broken_by {
            assert!(!(rule.check)(&Tree::of(files)).is_empty(), "{name} lets this pass: {files:?}");
        }
    }
}

#[test]
fn no_rule_cries_wolf() {
    for (name, rule) in TABLE {
        assert!(!rule.kept_by.is_empty(), "{name} shows nothing that it would let pass");
        for files in rule.kept_by {
            let findings = (rule.check)(&Tree::of(files));
            assert!(findings.is_empty(), "{name} refuses this: {files:?}: {}", findings[0]);
        }
    }
}

#[test]
fn the_repository_is_really_read() {
    let read = REPOSITORY.as_ref().map(|tree| tree.files.iter().filter(|file| file.rust.is_some()).count());
    assert!(read.is_ok_and(|count| count > 5));
}
