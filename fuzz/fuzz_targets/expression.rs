//! Expressions of any text, evaluated on facts that have everything. Evaluation ends in time, and both parsers build the same tree
//! of an expression that both accept.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cel::common::value::Val;
use cel::{Context, Value};
use imgcheck_base::yaml::{self, Spanned};
use imgcheck_rules::rules::deadline::Deadline;
use imgcheck_rules::rules::expression::{Expression, MAX_EXPRESSION, Source, written};
use imgcheck_rules::rules::scope::Scope;
use imgcheck_rules::rules::shape::Shape;
use imgcheck_rules::rules::template::Template;
use imgcheck_rules::rules::{Facts, functions};

/// Time for one expression; after that it has no result.
const TIME: Duration = Duration::from_secs(2);

static SAMPLE: LazyLock<Value> = LazyLock::new(|| {
    cel::to_value(Shape::of_type::<Facts>().sample("")).expect("the sample as a value")
});

pub fn fuzz(text: &str) {
    // As in a rule file, where the expression is a scalar.
    let quoted = serde_json::to_string(text).expect("a text");
    let Ok(scalar) = yaml::parse::<Spanned<String>>("fuzzed.yaml", &quoted) else {
        return;
    };
    let source = Arc::new(Source {
        name: "fuzzed.yaml".to_owned(),
        text: quoted,
    });
    let deadline: Arc<Deadline> = Arc::default();
    let context = context(&deadline);
    let expression = Expression::new(&source, &scalar);
    if scalar.value.len() > MAX_EXPRESSION {
        assert!(expression.program().is_err());
        return;
    }
    deadline.start(TIME);
    let outcome = expression.evaluate(&context);
    if deadline.has_passed() {
        return;
    }
    if let Ok(program) = expression.program() {
        let again = program
            .execute(&context)
            .map(|value| Box::<dyn Val>::try_from(value).expect("a value of expressions"));
        match (outcome, again) {
            (Ok(Ok(a)), Ok(b)) => assert_eq!(written(a.as_ref()), written(b.as_ref()), "{text}"),
            (Ok(Err(_)) | Err(_), Err(_)) => {}
            (a, b) => panic!("{text}: {a:?} by the one parser, {b:?} by the other"),
        }
    }
    if let Ok(template) = Template::new(&source, &scalar) {
        let _ = template.render(&mut Scope::new(context, Vec::new()));
    }
}

fn context(deadline: &Arc<Deadline>) -> Context<'static, 'static> {
    let mut context = functions::context(deadline);
    if let Value::Map(roots) = &*SAMPLE {
        for (name, value) in roots.map.iter() {
            context.add_variable_from_value(name.to_string(), value.clone());
        }
    }
    context
}
