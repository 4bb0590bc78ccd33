//! The tables of `costs.md`: one row for each attack or series of images, with its cost.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use super::attack::{Attack, Run};

/// A table, by its first two lines.
pub struct Table(pub &'static str);

const ATTACKS: Table =
    Table("| attack | image | result | time | peak memory |\n|---|---|---|---|---|\n");

/// Runs of this process, by the name of the attack.
static RUNS: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// Whether to write the tables.
pub fn is_wanted() -> bool {
    std::env::var_os("IMGCHECK_ATTACK_TABLE").is_some()
}

/// Records the cost of an attack if the table is to be written.
pub fn note(attack: &Attack, run: &Run) {
    if !is_wanted() {
        return;
    }
    let cost = format!(
        "{:.2} s | {} MB",
        run.elapsed.as_secs_f64(),
        run.memory.div_ceil(1024)
    );
    let mut runs = RUNS.lock().unwrap();
    runs.push((attack.name, cost));
    let rows = super::attacks().into_iter().map(|attack| {
        let (_, cost) = runs.iter().find(|(name, _)| *name == attack.name)?;
        Some(format!("{}{cost} |\n", beginning(&attack)))
    });
    if let Some(rows) = rows.collect::<Option<String>>() {
        ATTACKS.write(&rows);
    }
}

/// The part of a row that does not change from run to run.
fn beginning(attack: &Attack) -> String {
    let outcome = attack.outcome.words().replace('|', "\\|");
    format!("| `{}` | {} | {outcome} | ", attack.name, attack.holds)
}

impl Table {
    /// Replaces the rows of the page.
    pub fn write(&self, rows: &str) {
        let page = fs::read_to_string(page()).unwrap();
        let (before, _, after) = self.parts(&page);
        fs::write(self::page(), format!("{before}{}{rows}{after}", self.0)).unwrap();
    }

    /// Fails unless the page has exactly the rows with these beginnings.
    pub fn compare(&self, beginnings: impl IntoIterator<Item = String>) {
        let page = fs::read_to_string(page()).unwrap();
        let mut rows = self.parts(&page).1.lines();
        for beginning in beginnings {
            let row = rows.next().unwrap_or_default();
            assert!(
                row.starts_with(&beginning),
                "{row}\nis not the row of\n{beginning}"
            );
        }
        assert_eq!(rows.next(), None);
    }

    /// The page before the table, its rows, and the rest.
    fn parts<'p>(&self, page: &'p str) -> (&'p str, &'p str, &'p str) {
        let (before, table) = page.split_once(self.0).expect("the page has the table");
        let end = table.find("\n\n").map_or(table.len(), |end| end + 1);
        (before, &table[..end], &table[end..])
    }
}

fn page() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/hostile/costs.md"
    ))
}

#[test]
fn the_table_has_every_attack() {
    ATTACKS.compare(super::attacks().iter().map(beginning));
}
