//! Which of the programs that a container starts is the one that it runs.

use crate::chain::Chain;
use crate::program::Program;
use crate::value::Value;
use imgcheck_base::gap::Gap;
use imgcheck_base::lexical::name_of;

/// The program that the container runs, of those that it starts; the others are gaps.
pub(crate) fn choose(chain: &mut Chain) -> Option<Program> {
    let mut started = std::mem::take(&mut chain.started);
    let rank = |it: &Program| (it.is_main, !it.is_harmless, it.path.is_empty());
    let best = (0..started.len()).max_by_key(|at| (rank(&started[*at]), *at))?;
    let chosen = started.remove(best);
    let is_other = |it: &Program| {
        let differs = it.executable != chosen.executable
            || deciding(&it.process.arguments) != deciding(&chosen.process.arguments)
            || relevant(chain, it) != relevant(chain, &chosen);
        !it.is_harmless && (differs || it.is_main != chosen.is_main)
    };
    let others: Vec<Gap> = started
        .iter()
        .filter(|it| is_other(it))
        .map(|it| {
            it.cause.gap(format!(
                "line {}, {}, also starts {}, and it is not known what that does before {} starts",
                it.cause.line,
                it.cause.what,
                it.path,
                name_of(&chosen.path)
            ))
        })
        .collect();
    for gap in others {
        if !chain.gaps.contains(&gap) {
            chain.gaps.push(gap);
        }
    }
    Some(chosen)
}

/// The arguments that decide which code a program loads: its options, and the directory of its script. With an option that has a value,
/// which one is the script is not looked into.
fn deciding(arguments: &[Value]) -> Vec<Value> {
    let Some((program, rest)) = arguments.split_first() else {
        return Vec::new();
    };
    let is_option = |it: &&Value| it.known().is_some_and(|it| it.starts_with('-'));
    let options: Vec<&Value> = rest.iter().take_while(is_option).collect();
    let has_value = |it: &&&Value| it.known().is_some_and(|it| it != "-u");
    let script = rest.get(options.len()).and_then(Value::known);
    match script.filter(|_| !options.iter().any(|it| has_value(&it))) {
        None => arguments.to_vec(),
        Some(script) => {
            let directory = script
                .rsplit_once('/')
                .map_or("", |(directory, _)| directory);
            let options = options.into_iter().cloned();
            std::iter::once(program.clone())
                .chain(options)
                .chain([directory.into()])
                .collect()
        }
    }
}

/// What decides which code a program loads.
fn relevant<'p>(chain: &Chain, program: &'p Program) -> (Vec<(&'p str, &'p Value)>, &'p Value) {
    let variables = program.process.environment.iter();
    let relevant = variables.filter(|(name, _)| chain.knowledge.is_relevant(name));
    let settings = relevant.map(|(name, setting)| (&**name, &setting.value));
    (settings.collect(), &program.process.directory)
}
