//! Forms of tags that a publisher never uses.

use super::facts::Unpublished;
use super::knowledge::{Form, Publications};
use super::reference::Reference;
use crate::claims::claim::Claim;
use imgcheck_base::version::{meets, newer};

/// The forms that a reference has.
pub fn unpublished<'p>(
    reference: &Reference<'_>,
    publications: &'p Publications,
) -> Vec<Unpublished> {
    let Some(tag) = reference.tag else {
        return Vec::new();
    };
    let registry = reference.registry(publications);
    let toolkits: Vec<&Claim> = reference.of(&publications.terms.toolkit.subject).collect();
    let is_in = |names: &[String], name: &str| names.iter().any(|it| it == name);
    let forms = publications.forms.iter().filter(|form| {
        is_in(&form.repositories, reference.repository)
            && is_in(&form.registries, registry)
            && form.pattern.matches(tag)
            && form.holds_for(&toolkits)
    });
    let toolkit = &publications.terms.toolkit.subject;
    let subject = |form: &'p Form| form.subject.as_ref().unwrap_or(toolkit);
    let form = |form: &'p Form| Unpublished {
        claims: reference.of(subject(form)).cloned().collect(),
        published: vec![form.help.clone()],
        why: form.why.clone(),
        help: form.help.clone(),
        ..Unpublished::of_form(if form.withdrawn { "withdrawn" } else { "form" }, true)
    };
    forms.map(form).collect()
}

impl Form {
    /// Whether one of the claimed releases of the toolkit is in its range.
    fn holds_for(&self, toolkits: &[&Claim]) -> bool {
        let claimed = |is_in: &dyn Fn(&str) -> bool| toolkits.iter().any(|it| is_in(&it.version));
        let from = self.from.as_deref();
        let to = self.to.as_deref();
        from.is_none_or(|from| claimed(&|it| newer(from, it) == Some(false)))
            && to.is_none_or(|to| {
                claimed(&|it| newer(it, to) == Some(false) || meets(it, to) == Some(true))
            })
    }
}
