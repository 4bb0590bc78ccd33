//! Claims read from references that people wrote.
#[test]
fn score() {
    let file = std::env::var("ROWS").unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let grammar = imgcheck::claims::Grammar::builtin().unwrap();
    let (mut ok, mut all) = (0, 0);
    for line in text.lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        let claims = grammar.claims(f[0]).unwrap_or_default();
        let mut got: Vec<String> = claims
            .iter()
            .map(|c| format!("{}={}", c.subject, c.version))
            .collect();
        let full = got.clone();
        let mut missing = vec![];
        for e in f[1].split_whitespace() {
            match got.iter().position(|g| g == e) {
                Some(p) => {
                    got.remove(p);
                }
                None => missing.push(e),
            }
        }
        let note = f.get(3).copied().unwrap_or("");
        let may: Vec<&str> = note
            .split("may: ")
            .nth(1)
            .unwrap_or("")
            .split_whitespace()
            .collect();
        let mut extra: Vec<String> = vec![];
        let mut used: Vec<&str> = vec![];
        for g in &got {
            let subject = g.split('=').next().unwrap();
            if may.iter().any(|m| m.trim_end_matches([';', ',']) == g) && !used.contains(&subject) {
                used.push(subject)
            } else {
                extra.push(g.clone())
            }
        }
        all += 1;
        if missing.is_empty() && extra.is_empty() {
            ok += 1
        } else {
            println!("{} expected [{}] got {:?} note {}", f[0], f[1], full, note);
        }
    }
    println!("{ok}/{all}");
}
