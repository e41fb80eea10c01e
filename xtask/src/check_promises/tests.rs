use super::*;

/// A table with every promise, all of them planned, and one row of it replaced.
fn table(row: &str) -> Table {
    let id = row.get(2..5).unwrap_or_default();
    let rows: Vec<String> = ids()
        .map(|one| if one == id { row.to_owned() } else { format!("| {one} | Words | planned | |") })
        .collect();
    Table::parse(&rows.join("\n")).unwrap()
}

fn shown(file: &str, name: &str, ignored: bool) -> Shown {
    Shown { file: file.to_owned(), name: name.to_owned(), ignored }
}

#[test]
fn a_true_table_passes() {
    let tests = [shown("a.rs", "req_s02_x", false), shown("a.rs", "other", false)];
    assert_eq!(findings(&table("| S02 | W | kept | `a.rs::req_s02_x` |"), &tests), Vec::<String>::new());
    assert_eq!(
        findings(&table("| S02 | W | partly | `a.rs::req_s02_x`<br>`a.rs::other` |"), &tests),
        [""; 0]
    );
    assert_eq!(findings(&table(""), &tests[1..]), Vec::<String>::new());
}

#[test]
fn every_untruth_is_found() {
    let test = || shown("a.rs", "req_s02_x", false);
    let cases = [
        ("| S02 | W | kept | `a.rs::gone` |", vec![], "S02: there is no test a.rs::gone"),
        ("| S02 | W | kept | |", vec![], "S02: said to be kept, and no test shows it"),
        ("| S02 | W | partly | |", vec![], "S02: said to be partly, and no test shows it"),
        (
            "| S02 | W | planned | `a.rs::req_s02_x` |",
            vec![test()],
            "S02: has tests, so it is more than planned",
        ),
        ("| S02 | W | planned | |", vec![test()], "S02: a.rs::req_s02_x is not listed"),
        (
            "| S02 | W | kept | `a.rs::req_s02_x` |",
            vec![shown("a.rs", "req_s02_x", true)],
            "S02: a.rs::req_s02_x is never run",
        ),
        ("", vec![shown("a.rs", "req_x", false)], "a.rs::req_x: names no promise (req_s02_\u{2026})"),
        ("", vec![shown("a.rs", "req_s99_x", false)], "a.rs::req_s99_x: there is no promise S99"),
    ];
    for (row, tests, finding) in cases {
        let found = findings(&table(row), &tests);
        assert!(found.iter().any(|found| found == finding), "{finding} not in {found:?}");
    }
}

#[test]
fn an_id_is_there_exactly_once() {
    let mut lines = table("").0;
    let first = lines[0].clone();
    lines.push(first);
    lines.push(Line::Promise(Promise {
        id: "Q01".to_owned(),
        words: "W".to_owned(),
        status: Status::Planned,
        tests: Vec::new(),
    }));
    lines.remove(1);
    assert_eq!(findings(&Table(lines), &[]), ["I01: there twice", "Q01: no such promise", "I02: missing"]);
}

#[test]
fn filling_in_keeps_words_and_listed_tests() {
    let tests = [shown("a.rs", "listed", false), shown("a.rs", "req_s02_new", false)];
    let before = table("| S02 | Words \\| kept | planned | `a.rs::listed`<br>`a.rs::gone` |");
    let after = filled(&before, &tests);
    let promise = after.promises().find(|promise| promise.id == "S02").unwrap();
    assert_eq!(promise.words, "Words \\| kept");
    assert_eq!(promise.status, Status::Partly);
    assert_eq!(promise.tests, ["a.rs::listed", "a.rs::req_s02_new"]);
    assert_eq!(findings(&after, &tests), Vec::<String>::new());
}
