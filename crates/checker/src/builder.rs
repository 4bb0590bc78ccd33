//! Builds a checker: configuration, rules, policy, targets, cache and registries, each checked where it is given.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::node_files;
use super::state::Checker;
use imgcheck_base::beneath::Tree;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;
use imgcheck_model::finding::Severity;
use imgcheck_model::knowledge::{Knowledge, OnFirstUse};
use imgcheck_model::targets::{Tables, Target};
use imgcheck_rules::policy::{Baseline, Config, Expectation, Policy, discover};
use imgcheck_rules::rules::RuleSet;
use imgcheck_source::attest::key::PublicKey;
use imgcheck_source::cache::{Cache, CacheKey, CacheOptions};
use imgcheck_source::source::registry::{Guard, Options, Registries};

/// Builds a [`Checker`]. What is given here takes precedence over the configuration file.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{Checker, Severity};
///
/// let checker = Checker::builder()
///     .gpus(["h100", "rtx 4090"])
///     .driver("535.183.06")
///     .expect("torch==2.8.*")
///     .fail_on(Some(Severity::Warning))
///     .build()?;
/// assert!(Checker::builder().gpus(["h1000"]).build().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct CheckerBuilder {
    configuration: Configuration,
    rules: Vec<PathBuf>,
    expectations: Vec<String>,
    gpus: Vec<String>,
    driver: Option<String>,
    nodes: Vec<PathBuf>,
    fail_on: Option<Option<Severity>>,
    strict: bool,
    baseline: BaselineFile,
    limits: Vec<(Limit, u64)>,
    cache: Option<CacheOptions>,
    store: Option<(String, Option<CacheKey>)>,
    registries: Options,
    without_rules: bool,
    all_gpus: bool,
    loader_trees: bool,
    python_module: Option<String>,
    skipped_rules: bool,
    no_lazy: bool,
    guarded: bool,
    facts_from_registry: bool,
    facts_keys: Vec<PublicKey>,
}

#[derive(Debug, Clone, Default)]
enum Configuration {
    #[default]
    None,
    File(PathBuf),
    Discover(PathBuf),
}

#[derive(Debug, Clone, Default)]
enum BaselineFile {
    /// The one that the configuration names, if any.
    #[default]
    Configured,
    None,
    File(PathBuf),
}

impl Checker {
    /// A builder whose checker has the built-in rules and no policy, targets or cache.
    pub fn builder() -> CheckerBuilder {
        CheckerBuilder::default()
    }
}

impl CheckerBuilder {
    /// Reads this configuration file. By default no configuration is read.
    #[must_use]
    pub fn configuration(mut self, file: impl Into<PathBuf>) -> Self {
        self.configuration = Configuration::File(file.into());
        self
    }

    /// Looks for a configuration file: `.imgcheck.yaml` in this directory and its parents up to the root of the repository, then
    /// `imgcheck/config.yaml` in the user's configuration directory.
    #[must_use]
    pub fn discover_configuration(mut self, directory: impl Into<PathBuf>) -> Self {
        self.configuration = Configuration::Discover(directory.into());
        self
    }

    /// Adds a rule file, or all rule files of a directory.
    #[must_use]
    pub fn rules(mut self, path: impl Into<PathBuf>) -> Self {
        self.rules.push(path.into());
        self
    }

    /// Evaluates no rules: reports say what is in the images, and have no findings.
    #[must_use]
    pub fn without_rules(mut self) -> Self {
        self.without_rules = true;
        self
    }

    /// Expects a version of a component: `torch==2.8.*`, `cudnn>=9.7,<10`.
    #[must_use]
    pub fn expect(mut self, expectation: impl Into<String>) -> Self {
        self.expectations.push(expectation.into());
        self
    }

    /// The GPUs that images must run on, by name or architecture: `h100`, `sm_90`. They replace the targets of the configuration.
    #[must_use]
    pub fn gpus<S: Into<String>>(mut self, gpus: impl IntoIterator<Item = S>) -> Self {
        self.gpus.extend(gpus.into_iter().map(Into::into));
        self
    }

    /// Judges images on every GPU of the tables, as [`View::Requirements`](crate::View) needs it.
    #[must_use]
    pub fn all_gpus(mut self) -> Self {
        self.all_gpus = true;
        self
    }

    /// Nodes that images must run on: a file of `kubectl get nodes,resourceslices -o json`. Each class of equal nodes with GPUs is a target,
    /// beside those that are given otherwise.
    #[must_use]
    pub fn nodes(mut self, file: impl Into<PathBuf>) -> Self {
        self.nodes.push(file.into());
        self
    }

    /// The driver that images must run on. Without [`gpus`](Self::gpus) it replaces the driver of each target of the configuration.
    #[must_use]
    pub fn driver(mut self, version: impl Into<String>) -> Self {
        self.driver = Some(version.into());
        self
    }

    /// The lowest severity that makes an image fail; `None` never fails. By default it is [`Severity::Error`].
    #[must_use]
    pub fn fail_on(mut self, severity: Option<Severity>) -> Self {
        self.fail_on = Some(severity);
        self
    }

    /// An image with a gap, which is something that could not be judged, does not pass: its verdict is
    /// [`Verdict::Incomplete`](imgcheck_report::Verdict::Incomplete).
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Findings of this baseline file do not count.
    #[must_use]
    pub fn baseline(mut self, file: impl Into<PathBuf>) -> Self {
        self.baseline = BaselineFile::File(file.into());
        self
    }

    /// Ignores the baseline that the configuration names.
    #[must_use]
    pub fn without_baseline(mut self) -> Self {
        self.baseline = BaselineFile::None;
        self
    }

    /// Sets limits.
    #[must_use]
    pub fn limits(mut self, settings: impl IntoIterator<Item = (Limit, u64)>) -> Self {
        self.limits.extend(settings);
        self
    }

    /// Keeps layer facts here. By default nothing is kept.
    #[must_use]
    pub fn cache(mut self, cache: CacheOptions) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The store of a sweep, by URL, instead of a cache. A key signs its entries; without one it must be a directory
    /// that others cannot write to.
    #[must_use]
    pub fn store(mut self, url: impl Into<String>, key: Option<CacheKey>) -> Self {
        self.store = Some((url.into(), key));
        self
    }

    /// How registries are reached.
    #[must_use]
    pub fn registries(mut self, options: Options) -> Self {
        self.registries = options;
        self
    }

    /// Reads layers with a table of contents (zstd:chunked, eStargz) as streams: a table can describe a different archive than the one
    /// that container engines unpack. [`strict`](Self::strict) implies it.
    #[must_use]
    pub fn no_lazy(mut self, no_lazy: bool) -> Self {
        self.no_lazy = no_lazy;
        self
    }

    /// Takes the facts that lie beside an image in its registry, where one of the keys of the configuration or one of these signed them,
    /// instead of reading its layers. Others are read as ever.
    #[must_use]
    pub fn facts_from_registry(mut self, keys: impl IntoIterator<Item = PublicKey>) -> Self {
        self.facts_from_registry = true;
        self.facts_keys.extend(keys);
        self
    }

    /// Strangers name the images: internal addresses are refused, but those of the hosts that the configuration lists
    /// (`gate: {internal-hosts: …}`). Facts beside an image are used if the configuration names keys.
    #[must_use]
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }

    /// Adds the loader model to reports as a tree, which HTML pages draw and [`View::Loader`](crate::View) needs.
    #[must_use]
    pub fn loader_trees(mut self, wanted: bool) -> Self {
        self.loader_trees = wanted;
        self
    }

    /// Plays the import of this Python module in place of those of the packages that imgcheck knows.
    #[must_use]
    pub fn python_module(mut self, module: Option<String>) -> Self {
        self.python_module = module;
        self
    }

    /// Adds the rules that lack a fact to reports, which [`TextLevel::Verbose`](imgcheck_report::text::options::TextLevel) shows.
    #[must_use]
    pub fn skipped_rules(mut self, wanted: bool) -> Self {
        self.skipped_rules = wanted;
        self
    }

    /// Reads the configuration and the rules, and checks everything that was given.
    ///
    /// # Errors
    /// The configuration, a rule, an expectation, a target or the baseline is wrong, or the cache URL has no known scheme.
    pub fn build(self) -> Result<Checker> {
        let (rules, knowledge) = (self.builtin_rules()?, Knowledge::read()?);
        let targets = &knowledge.targets;
        let config = self.configuration.load(targets)?;
        self.check_found(&config)?;
        let mut limits = config.limits;
        for (limit, value) in &self.limits {
            limits.set(*limit, *value);
        }
        let mut policy = self.policy(&config, targets)?;
        for file in &self.nodes {
            let classes = node_files::classes(std::slice::from_ref(file), &targets.gpus)?;
            let classes = classes.into_iter().filter(|it| it.has_gpu);
            policy.targets.extend(classes.map(|it| it.target.clone()));
        }
        if self.all_gpus {
            policy.targets = vec![Target::all(&targets.gpus)];
        }
        let rules = self.add_rules(rules, &config)?;
        let cache = match (&self.store, &self.cache) {
            (Some((url, key)), _) => Cache::in_store(url, key.clone())?,
            (None, Some(cache)) => Cache::open(cache)?,
            (None, None) => Cache::default(),
        };
        let mut facts_keys = self.facts_keys;
        if self.facts_from_registry || self.guarded {
            facts_keys.extend(config.facts_keys()?);
        }
        if self.facts_from_registry && facts_keys.is_empty() {
            let problem = "no key says whose facts beside an image are to be believed";
            return Err(Error::usage(problem).with_help(
                "pass --facts-key FILE, or name keys under `facts-keys:` in .imgcheck.yaml",
            ));
        }
        let mut registries = self.registries;
        if self.guarded {
            registries.guard = Some(Guard::new(&config.gate.internal_hosts));
        }
        let registries = Registries::new(registries);
        Ok(Checker {
            layers: OnFirstUse::default(),
            knowledge: Arc::new(knowledge),
            rules: Arc::new(rules),
            policy,
            configuration: config.file().map(str::to_owned),
            limits,
            cache,
            offline: registries.offline(),
            registries,
            gate: config.gate,
            no_lazy: self.no_lazy,
            facts_keys,
            remarks: Mutex::default(),
            loader_trees: self.loader_trees,
            python_module: self.python_module,
            skipped_rules: self.skipped_rules,
        })
    }

    /// # Errors
    /// A strict check would use a policy that was found and not named: a change to the repository could change it. A found file may ask
    /// for a strict check, but not acknowledge gaps at the same time.
    fn check_found(&self, config: &Config) -> Result<()> {
        let (Configuration::Discover(_), Some(file)) = (&self.configuration, config.file()) else {
            return Ok(());
        };
        if !self.strict {
            return config.check_found();
        }
        let problem = format!("--strict does not use {file}, which was found and not named");
        let help = format!(
            "a change to the repository could change it: pass --config {file} if you trust it, or --no-config"
        );
        Err(Error::usage(problem).with_help(help))
    }

    fn policy(&self, config: &Config, tables: &Tables) -> Result<Policy> {
        let mut policy = config.policy.clone();
        policy.fail_on = self.fail_on.unwrap_or(policy.fail_on);
        policy.strict |= self.strict;
        policy.baseline = match &self.baseline {
            BaselineFile::Configured => config.load_baseline()?,
            BaselineFile::None => Baseline::default(),
            BaselineFile::File(path) => Baseline::load(path)?,
        };
        for text in &self.expectations {
            let expectation = Expectation::parse(text, "--expect").map_err(|mistake| {
                Error::usage(format!("--expect '{text}': {}", mistake.problem))
                    .with_help(mistake.help)
            })?;
            policy.expectations.push(expectation);
        }
        self.set_targets(&mut policy.targets, tables)?;
        Ok(policy)
    }

    fn set_targets(&self, targets: &mut Vec<Target>, tables: &Tables) -> Result<()> {
        if self.gpus.is_empty() && self.driver.is_none() {
            return Ok(());
        }
        let given = Target {
            gpus: self.gpus.clone(),
            driver: self.driver.clone(),
            ..Target::default()
        };
        given.check(tables).map_err(Error::misread)?;
        if self.gpus.is_empty() && !targets.is_empty() {
            for target in targets {
                target.driver.clone_from(&self.driver);
                target.check(tables).map_err(Error::misread)?;
            }
        } else {
            *targets = vec![given];
        }
        Ok(())
    }

    fn builtin_rules(&self) -> Result<RuleSet> {
        match self.without_rules {
            true => Ok(RuleSet::default()),
            false => RuleSet::builtin(),
        }
    }

    /// Adds the rules of the configuration and of [`rules`](Self::rules). The configuration may only name rules that exist.
    fn add_rules(&self, mut rules: RuleSet, config: &Config) -> Result<RuleSet> {
        if self.without_rules {
            return Ok(rules);
        }
        config.check_rule_paths()?;
        for path in &config.rules {
            rules.add_path_of(config.tree(), path)?;
        }
        for path in &self.rules {
            if is_missing(path) {
                let path = path.display();
                return Err(Error::usage(format!(
                    "--rules {path}: no such file or directory"
                )));
            }
            rules.add_path(path)?;
        }
        let ids: Vec<&str> = rules.rules().map(|rule| rule.id.as_str()).collect();
        config.check_rules(&ids)?;
        Ok(rules)
    }
}

impl Configuration {
    fn load(&self, tables: &Tables) -> Result<Config> {
        match self {
            Configuration::None => Ok(Config::default()),
            Configuration::File(path) if is_missing(path) => {
                let path = path.display();
                Err(Error::usage(format!("--config {path}: no such file")))
            }
            // A file elsewhere is the user's own, or a pipe.
            Configuration::File(path) => Config::load(path, Tree::working(path).as_ref(), tables),
            Configuration::Discover(directory) => match discover::in_repository(directory) {
                Some(path) => Config::load(&path, Some(&Tree::of(&path)), tables),
                // Nobody but the user writes it, and dotfiles are often links.
                None => discover::of_user().map_or_else(
                    || Ok(Config::default()),
                    |it| Config::load(&it, None, tables),
                ),
            },
        }
    }
}

fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}
