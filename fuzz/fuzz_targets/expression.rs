//! Expressions of any text, evaluated on facts that have everything. Both parsers must see the same in one that both accept.

#![no_main]

use std::sync::{Arc, LazyLock};

use cel::{Context, Value};
use imgcheck::rules::expression::{Expression, MAX_EXPRESSION, Source, Template, written};
use imgcheck::rules::{Facts, functions};
use imgcheck::yaml::{self, Spanned};
use libfuzzer_sys::fuzz_target;

static SAMPLE: LazyLock<Value> =
    LazyLock::new(|| cel::to_value(Facts::sample()).expect("the sample as a value"));

fuzz_target!(|text: &str| {
    // As in a rule file, where the expression is a scalar.
    let quoted = serde_json::to_string(text).expect("a text");
    let Ok(scalar) = yaml::parse::<Spanned<String>>("fuzzed.yaml", &quoted) else {
        return;
    };
    let source = Arc::new(Source {
        name: "fuzzed.yaml".to_owned(),
        text: quoted,
    });
    let context = context();
    let expression = Expression::new(&source, &scalar);
    if scalar.value.len() > MAX_EXPRESSION {
        assert!(expression.program().is_err());
        return;
    }
    let outcome = expression.evaluate(&context);
    if let Ok(program) = expression.program() {
        let again = program.execute(&context);
        match (outcome, again) {
            (Ok(Ok(a)), Ok(b)) => assert_eq!(written(&a), written(&b), "{text}"),
            (Ok(Err(_)) | Err(_), Err(_)) => {}
            (a, b) => panic!("{text}: {a:?} by the one parser, {b:?} by the other"),
        }
    }
    if let Ok(template) = Template::new(&source, &scalar) {
        let _ = template.render(&context);
    }
});

fn context() -> Context<'static, 'static> {
    let mut context = functions::context(&Arc::default());
    if let Value::Map(roots) = &*SAMPLE {
        for (name, value) in roots.map.iter() {
            context.add_variable_from_value(name.to_string(), value.clone());
        }
    }
    context
}
