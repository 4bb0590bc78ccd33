//! What was decided lately, and what waits.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::answer::{STYLE, message, page};
use super::filter::{Filter, SELECTIONS, Selection};
use super::row::{PendingRow, Row, Time};
use crate::recent::{LINES, Line};
use crate::state::Gate;

/// Decisions on one page.
const ROWS: usize = 100;
/// Images that wait, on one page.
const PENDING: usize = 50;

#[derive(Template)]
#[template(path = "page/overview.html")]
struct Overview {
    version: &'static str,
    title: &'static str,
    style: &'static str,
    /// Why the server does not want requests.
    obstacle: Option<String>,
    /// The name of this replica, if it has one.
    replica: Option<String>,
    since: Time,
    most: usize,
    held: usize,
    tallies: Vec<Tally>,
    filter: Filter,
    /// Each with whether it is selected.
    namespaces: Vec<(String, bool)>,
    verdicts: Vec<(&'static Selection, bool)>,
    rows: Vec<Row>,
    matching: usize,
    /// The position of the first row, from 1.
    first: usize,
    newer: Option<usize>,
    older: Option<usize>,
    pending: Vec<PendingRow>,
    waiting: usize,
}

/// How many lines are of one kind.
struct Tally {
    count: usize,
    label: &'static str,
    class: &'static str,
    href: String,
}

/// `GET /`.
pub async fn overview(
    State(gate): State<Gate>,
    query: Result<Query<Filter>, QueryRejection>,
) -> Response {
    let unusable = |text: &str| message(StatusCode::BAD_REQUEST, "Filter not understood", text);
    let filter = match query {
        Ok(Query(filter)) => filter,
        Err(rejection) => return unusable(&rejection.body_text()),
    };
    let selection = match filter.selection() {
        Ok(selection) => selection,
        Err(problem) => return unusable(problem),
    };
    let work = move || page(StatusCode::OK, &Overview::of(&gate, filter, selection));
    let made = tokio::task::spawn_blocking(work).await;
    made.unwrap_or_else(|_| {
        let text = "The page could not be made.";
        message(StatusCode::INTERNAL_SERVER_ERROR, "Error", text)
    })
}

impl Overview {
    fn of(gate: &Gate, filter: Filter, selection: Option<&Selection>) -> Self {
        let lines = gate.recent().lines();
        let (pending, waiting) = gate.queue().pending(|job| filter.matches_job(job), PENDING);
        let is_wanted = |line: &&Line| {
            let decision = &line.decision;
            filter.matches(decision) && selection.is_none_or(|it| (it.has)(decision))
        };
        let wanted: Vec<&Line> = lines.iter().filter(is_wanted).collect();
        let pages = wanted.len().div_ceil(ROWS).max(1);
        let at = filter.page.unwrap_or(1).clamp(1, pages);
        let start = (at - 1) * ROWS;
        let rows = wanted.iter().skip(start).take(ROWS);
        Overview {
            version: env!("CARGO_PKG_VERSION"),
            title: "Decisions · imgcheck serve",
            style: &STYLE,
            obstacle: gate.obstacle(),
            replica: std::env::var("HOSTNAME").ok().filter(|it| !it.is_empty()),
            since: gate.recent().since.into(),
            most: LINES,
            held: lines.len(),
            tallies: tallies(&lines),
            namespaces: namespaces(&lines, &filter.namespace),
            verdicts: SELECTIONS
                .iter()
                .map(|it| (it, it.name == filter.verdict))
                .collect(),
            rows: rows.map(|line| Row::from(*line)).collect(),
            matching: wanted.len(),
            first: start + 1,
            newer: (at > 1).then(|| at - 1),
            older: (at < pages).then_some(at + 1),
            pending: pending.iter().map(PendingRow::from).collect(),
            waiting,
            filter,
        }
    }
}

/// The number of lines of the kinds that a person looks for first.
fn tallies(lines: &[Line]) -> Vec<Tally> {
    let tally = |name: &'static str, class: &'static str| {
        let selection = SELECTIONS.iter().find(|it| it.name == name)?;
        let lines = lines.iter();
        Some(Tally {
            count: lines.filter(|it| (selection.has)(&it.decision)).count(),
            label: selection.label,
            class,
            href: format!("/?verdict={name}"),
        })
    };
    let all = [
        ("denied", "error"),
        ("let-through", "warning"),
        ("pass", "good"),
    ];
    all.into_iter()
        .filter_map(|(name, class)| tally(name, class))
        .collect()
}

/// The namespaces that have decisions, and the one that is selected.
fn namespaces(lines: &[Line], selected: &str) -> Vec<(String, bool)> {
    let all = lines.iter().map(|it| it.decision.namespace.as_str());
    let all: BTreeSet<&str> = all.chain([selected]).filter(|it| !it.is_empty()).collect();
    let all = all.into_iter();
    all.map(|it| (it.to_owned(), it == selected)).collect()
}
