//! The table of the book: a row an attack, with what it cost.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use super::attack::{Attack, Run};

/// Where the rows stand.
const BEGIN: &str = "| attack | the image holds | what becomes of it | time | peak memory |\n|---|---|---|---|---|\n";

/// Runs of this process, by the name of the attack.
static RUNS: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// Remembers what an attack cost, where the table is to be written.
pub fn note(attack: &Attack, run: &Run) {
    if std::env::var_os("IMGCHECK_ATTACK_TABLE").is_none() {
        return;
    }
    let cost = format!(
        "{:.2} s | {} MB",
        run.elapsed.as_secs_f64(),
        run.memory.div_ceil(1024)
    );
    let mut runs = RUNS.lock().unwrap();
    runs.push((attack.name, cost));
    let all = super::attacks();
    if all
        .iter()
        .all(|attack| runs.iter().any(|(name, _)| *name == attack.name))
    {
        let rows = all.iter().map(|attack| {
            let (_, cost) = runs.iter().find(|(name, _)| *name == attack.name).unwrap();
            format!("{}{cost} |\n", beginning(attack))
        });
        let rows: String = rows.collect();
        let page = fs::read_to_string(page()).unwrap();
        let (before, after) = around(&page);
        fs::write(self::page(), format!("{before}{BEGIN}{rows}{after}")).unwrap();
    }
}

fn page() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/src/hostile-images.md"
    ))
}

/// The part of a row that does not change from run to run.
fn beginning(attack: &Attack) -> String {
    let mut row = String::new();
    let outcome = attack.outcome.words().replace('|', "\\|");
    write!(row, "| `{}` | {} | {outcome} | ", attack.name, attack.holds).unwrap();
    row
}

/// The page before and behind the table.
fn around(page: &str) -> (&str, &str) {
    let (before, table) = page.split_once(BEGIN).expect("the page has the table");
    let end = table.find("\n\n").map_or(table.len(), |end| end + 1);
    (before, &table[end..])
}

#[test]
fn the_table_of_the_book_has_every_attack() {
    let page = fs::read_to_string(page()).unwrap();
    let (before, after) = around(&page);
    let table = &page[before.len() + BEGIN.len()..page.len() - after.len()];
    let rows: Vec<&str> = table.lines().collect();
    let attacks = super::attacks();
    for (row, attack) in rows.iter().zip(&attacks) {
        assert!(
            row.starts_with(&beginning(attack)),
            "{row}\nis not the row of\n{}",
            beginning(attack)
        );
        assert!(!row.ends_with("| ? | ? |"), "{row}");
    }
    assert_eq!(rows.len(), attacks.len());
}
