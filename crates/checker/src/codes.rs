//! What the codes of gaps and errors mean: their documentation, as the schemas of reports have it.

use schemars::JsonSchema;
use serde_json::Value;

use imgcheck_base::error::ErrorCode;
use imgcheck_base::gap::GapCode;
use imgcheck_base::json_schema;

const GAP: &str = "Nothing is wrong so far: imgcheck could not judge this. Look at it by hand, then acknowledge it in \
                   `.imgcheck.yaml`:";
const ERROR: &str = "imgcheck could not finish, and the image did not pass. The error names what was being read, and what to do.";

/// The page of a code in Markdown; `None` if neither a gap nor an error has it.
pub fn page(code: &str) -> Option<String> {
    let gap = meaning::<GapCode>(code).map(|meaning| {
        let example = format!("ignore:\n  - gap: {code}\n    reason: …\n    expires: 2027-05-01");
        format!("# {code}\n\nNot judged: {meaning}\n\n{GAP}\n\n```yaml\n{example}\n```\n\nWith `--strict`, every gap gives exit code 3.\n")
    });
    let error = || {
        meaning::<ErrorCode>(code)
            .map(|meaning| format!("# {code}\n\nError: {meaning}\n\n{ERROR}\n"))
    };
    gap.or_else(error)
}

/// The names of all gaps.
pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    GapCode::ALL.into_iter().map(|code| code.as_str())
}

fn meaning<T: JsonSchema>(code: &str) -> Option<String> {
    let schema = json_schema::of_output::<T>("code.json");
    let variants = schema.get("oneOf").and_then(Value::as_array)?;
    let known = variants.iter().find(|variant| variant["const"] == code)?;
    let text = known["description"].as_str()?;
    Some(text.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page() {
        for name in names().chain(["not-found", "unauthorized", "output"]) {
            let page = page(name).unwrap_or_default();
            assert!(page.starts_with(&format!("# {name}\n\n")), "{name}: {page}");
        }
        assert_eq!(page("no-such-code"), None);
    }
}
