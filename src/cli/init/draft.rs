//! The files to write, and what they have in common.

/// A file to write.
pub struct Draft {
    /// Below the directory.
    pub path: &'static str,
    pub text: String,
    /// What the user must do for it to be used.
    pub next: Option<String>,
}

/// What the jobs do with Dockerfiles, and what is left to do.
pub fn duties(first: &str, others: &[String]) -> String {
    match listed(others) {
        None => format!("CI lints {first}, builds it and checks the image"),
        Some(others) => format!(
            "CI lints all Dockerfiles, but builds only {first} and checks that image\nbuild and check the images of the others, too (TODO in the file): {others}"
        ),
    }
}

/// The command that builds the first Dockerfile, or without one fails and says what is missing.
pub fn docker_build(dockerfiles: &[String], image: &str) -> String {
    match dockerfiles.first().map(String::as_str) {
        Some("Dockerfile") => format!("docker build --tag \"{image}\" ."),
        Some(name) => format!("docker build --file {} --tag \"{image}\" .", quoted(name)),
        None => format!("echo \"TODO build the image {image} here\" && exit 1"),
    }
}

/// Names in a text, if there are any.
pub fn listed(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| names.join(", "))
}

/// A word of the shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-".contains(it);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A template with its variables replaced. A line that begins with a variable begins behind it, and is left out if that has no value.
pub fn filled(template: &str, variables: &[(&str, Option<String>)]) -> String {
    let line = |line: &str| {
        let mut line = line.to_owned();
        for (name, value) in variables {
            match (line.strip_prefix(name), value) {
                (Some(_), None) => return None,
                (Some(rest), Some(value)) => line = rest.replace(name, value),
                (None, value) => line = line.replace(name, value.as_deref().unwrap_or_default()),
            }
        }
        Some(line + "\n")
    };
    template.lines().filter_map(line).collect()
}
