//! Python installations, environments and distributions.

use super::builder::*;
use imgcheck_model::stack::Labels;

#[test]
fn pythons_and_the_environment_of_the_process() {
    let interpreter = || plain("");
    let base = || {
        Image::new()
            .elf("usr/bin/python3.11", interpreter())
            .link("usr/bin/python3", "python3.11")
            .text("var/lib/dpkg/status", "Package: python3.11-minimal\nStatus: install ok installed\nVersion: 3.11.2-6+deb12u6\n")
            .elf("usr/local/bin/python3.12", interpreter())
            .link("usr/local/bin/python3", "python3.12")
            .text("usr/local/include/python3.12/patchlevel.h", "#define PY_VERSION \"3.12.4\"\n")
            .link("opt/venv/bin/python", "/usr/bin/python3")
            .text("opt/venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n")
            .distribution("opt/venv/lib/python3.11/site-packages", "vllm", "0.9.1")
            .distribution("usr/local/lib/python3.12/site-packages", "vllm", "0.8.0")
    };
    let system = "3.11.2 /usr/bin/python3.11";
    let local = "3.12.4 /usr/local/bin/python3.12";
    let by_default = base().stack();
    assert_eq!(
        table(&by_default, "python"),
        [format!("*{local}"), system.to_owned()]
    );
    assert!(table(&by_default, "vllm")[0].starts_with("*0.8.0 "));
    for (env, command) in [
        (
            vec!["PATH=/opt/venv/bin:/usr/local/bin:/usr/bin"],
            vec!["serve"],
        ),
        (vec![], vec!["/opt/venv/bin/python", "app.py"]),
        (vec![], vec!["/opt/venv/bin/vllm", "serve"]),
    ] {
        let stack = base().process(&env, &command).stack();
        assert_eq!(
            table(&stack, "python"),
            [format!("*{system}"), local.to_owned()],
            "{command:?}"
        );
        assert!(
            table(&stack, "vllm")[0].starts_with("*0.9.1 "),
            "{command:?}"
        );
    }
}

#[test]
fn the_variable_of_the_official_image_adds_the_patch_release_only() {
    let python = |version: &str| {
        Image::new()
            .elf("usr/local/bin/python3.11", plain(""))
            .process(&[version], &["python3"])
            .stack()
    };
    assert_eq!(
        only(&python("PYTHON_VERSION=3.11.9"), "python").version,
        "3.11.9"
    );
    assert_eq!(
        only(&python("PYTHON_VERSION=3.10.14"), "python").version,
        "3.11"
    );
}

#[test]
fn distributions_keep_their_pins() {
    let stack = Image::new()
        .text(
            &format!("{SITE}/torch-2.8.0.dist-info/METADATA"),
            "Name: Torch\nVersion: 2.8.0\nRequires-Dist: triton==3.4.0; platform_system == \"Linux\"\n\nRequires-Dist: no\n",
        )
        .text(&format!("{SITE}/old.egg-info/PKG-INFO"), "Name: jax\nVersion: 0.4.1\n")
        .stack();
    let torch = stack
        .distributions
        .iter()
        .find(|distribution| distribution.name == "torch")
        .unwrap();
    assert_eq!(
        torch.requires,
        ["triton==3.4.0; platform_system == \"Linux\""]
    );
    assert_eq!(torch.site, format!("/{SITE}"));
    assert_eq!(only(&stack, "jax").version, "0.4.1");
}

#[test]
fn the_shims_of_pyenv_lead_to_the_version_that_it_names() {
    let image = || {
        Image::new()
            .elf("usr/bin/python3.10", plain(""))
            .link("usr/bin/python3", "python3.10")
            .elf("root/.pyenv/versions/3.11.9/bin/python3.11", plain(""))
            .link("root/.pyenv/versions/3.11.9/bin/python3", "python3.11")
            .elf("root/.pyenv/versions/3.12.4/bin/python3.12", plain(""))
            .link("root/.pyenv/versions/3.12.4/bin/python3", "python3.12")
            .text("root/.pyenv/shims/python3", "#!/usr/bin/env bash\n")
            .text("root/.pyenv/version", "3.11.9\n")
    };
    let path = "PATH=/root/.pyenv/shims:/usr/bin";
    for (environment, expected) in [
        (vec![path], "3.11"),
        (vec![path, "PYENV_VERSION=3.12.4"], "3.12"),
        (vec!["PATH=/usr/bin"], "3.10"),
    ] {
        let stack = image().process(&environment, &["python3"]).stack();
        let first = &table(&stack, "python")[0];
        assert!(
            first.starts_with(&format!("*{expected}")),
            "{environment:?}: {first}"
        );
    }
}

#[test]
fn an_environment_with_a_copied_interpreter_is_seen() {
    let stack = Image::new()
        .elf("usr/bin/python3.10", plain(""))
        .elf("opt/venv/bin/python3", plain(""))
        .text(
            "opt/venv/pyvenv.cfg",
            "home = /usr/local/bin\nversion = 3.11.4\n",
        )
        .distribution("opt/venv/lib/python3.11/site-packages", "vllm", "0.9.1")
        .process(&["PATH=/opt/venv/bin:/usr/bin"], &["python3"])
        .stack();
    let first = &table(&stack, "python")[0];
    assert!(first.starts_with("*3.11"), "{first}");
}

/// Debian's default Python and one of deadsnakes or backports beside it.
#[test]
fn pythons_of_one_prefix_are_distinguished() {
    let site = |release: &str| format!("usr/local/lib/python{release}/dist-packages");
    let image = |env: &[&str], command: &[&str]| {
        let image = Image::new()
            .elf("usr/bin/python3.9", plain(""))
            .elf("usr/bin/python3.11", plain(""))
            .elf("usr/bin/python3.13", plain(""))
            .link("usr/bin/python3", "python3.11")
            .link("usr/local/bin/py/bin/python", "/usr/bin/python3.13")
            .distribution("usr/lib/python3/dist-packages", "cupy", "13.0.0");
        let image = torch(image, &site("3.11"), "2.8.0", "'12.8'");
        torch(image, &site("3.13"), "2.9.1", "'12.8'")
            .process(env, command)
            .stack()
    };
    let app = "/entrypoint.sh";
    let other = "PATH=/usr/local/bin/py/bin:/usr/bin";
    for (env, command, release, version) in [
        (vec![], vec!["python3.11", "app.py"], "3.11", "2.8.0"),
        (vec![], vec!["python3.13", "app.py"], "3.13", "2.9.1"),
        (vec![], vec!["/usr/bin/python3.13"], "3.13", "2.9.1"),
        (vec![], vec![app, "python3.13", "a.py"], "3.13", "2.9.1"),
        (
            vec![],
            vec!["/bin/sh", "-c", "exec python3.13 a.py"],
            "3.13",
            "2.9.1",
        ),
        (vec![], vec!["python3"], "3.11", "2.8.0"),
        (vec![], vec!["bash"], "3.11", "2.8.0"),
        (vec![other], vec!["python", "a.py"], "3.13", "2.9.1"),
    ] {
        let stack = image(&env, &command);
        let main = &stack.environments[0];
        assert_eq!(
            (main.prefix.as_str(), main.release.as_str()),
            ("/usr", release),
            "{command:?}"
        );
        let sites = [
            format!("/{}", site(release)),
            "/usr/lib/python3/dist-packages".to_owned(),
        ];
        // The working directory comes first where the command starts a script.
        let own: Vec<&String> = main.sites.iter().filter(|it| *it != "/").collect();
        assert_eq!(own, sites.iter().collect::<Vec<_>>());
        assert_eq!(
            Labels::of(&stack.environments).label(main),
            format!("/usr with Python {release}")
        );
        assert_eq!(
            table(&stack, "python")[0],
            format!("*{release} /usr/bin/python{release}")
        );
        let loaded = format!("*{version} /{}/torch", site(release));
        assert_eq!(table(&stack, "torch")[0], loaded, "{command:?}");
        assert!(table(&stack, "cupy")[0].starts_with('*'));
    }
}

/// What one Python of a prefix has installed is no requirement on what another has.
#[test]
fn requirements_are_those_of_one_python() {
    let stack = Image::new()
        .elf("usr/bin/python3.11", plain(""))
        .elf("usr/bin/python3.13", plain(""))
        .link("usr/bin/python3", "python3.13")
        .distribution("usr/local/lib/python3.13/dist-packages", "torch", "2.8.0")
        .distribution("usr/local/lib/python3.11/dist-packages", "torch", "2.9.1")
        .text(
            "usr/local/lib/python3.11/dist-packages/torchvision-0.23.0.dist-info/METADATA",
            "Name: torchvision\nVersion: 0.23.0\nRequires-Dist: torch==2.8.0\n",
        )
        .process(&[], &["python3.11", "app.py"])
        .stack();
    let [unmet] = &stack.unmet_requirements[..] else {
        panic!("{:?}", stack.unmet_requirements);
    };
    assert!(unmet.main);
    assert_eq!(unmet.found, "2.9.1");
    assert_eq!(unmet.environment, "/usr with Python 3.11");
}

/// transformers compares the versions of some of its requirements when it is imported; others do not matter.
#[test]
fn a_package_that_compares_versions_refuses_them() {
    let site = "usr/local/lib/python3.11/dist-packages";
    let requires = "Requires-Dist: tokenizers<0.22,>=0.21\nRequires-Dist: jinja2>=99\n";
    let text = |name: &str| format!("Name: {name}\nVersion: 4.55.0\n{requires}");
    let unmet = |name: &str, tokenizers: &str| {
        let image = Image::new()
            .elf("usr/bin/python3.11", plain(""))
            .distribution(site, "tokenizers", tokenizers)
            .distribution(site, "jinja2", "3.1.6")
            .text(
                &format!("{site}/{name}-4.55.0.dist-info/METADATA"),
                &text(name),
            );
        let stack = image.process(&[], &["python3.11", "app.py"]).stack();
        let unmet = stack.unmet_requirements.iter();
        let unmet: Vec<_> = unmet.map(|it| (it.name.clone(), it.at_import)).collect();
        unmet
    };
    let refused = [("tokenizers".to_owned(), true)];
    assert_eq!(unmet("transformers", "0.19.1"), refused);
    assert_eq!(unmet("transformers", "0.21.4"), []);
    assert_eq!(unmet("sentence-transformers", "0.19.1"), []);
}

/// The wheels of PyPI: METADATA says `2.11.0`, and `torchaudio/version.py` for which CUDA it was built.
#[test]
fn the_version_file_of_a_partner_names_its_cuda() {
    let image = |version: &str| {
        let text = format!("__version__ = '{version}'\ngit_version = '34c52a6'\n");
        let image = Image::new().distribution(SITE, "torchaudio", "2.11.0");
        image.text(&format!("{SITE}/torchaudio/version.py"), &text)
    };
    let version = |image: Image| only(&image.stack(), "torchaudio").version.clone();
    assert_eq!(version(image("2.11.0+cu130")), "2.11.0+cu130");
    // Left behind by another release.
    assert_eq!(version(image("2.10.0+cu128")), "2.11.0");
}

/// `COPY --from=builder /app/.venv /app/.venv` without the Python of that stage. The links are those of `python -m venv` and of uv.
#[test]
fn an_environment_whose_interpreter_is_missing_is_broken() {
    let venv = |target: &str| {
        Image::new()
            .elf("usr/bin/python3.11", plain(""))
            .link("app/.venv/bin/python", target)
            .link("app/.venv/bin/python3", "python")
            .link("app/.venv/bin/python3.12", "python")
            .text(
                "app/.venv/pyvenv.cfg",
                "home = /usr/local/bin\nversion = 3.12.4\n",
            )
    };
    let target = "/root/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/bin/python3.12";
    let stack = venv(target).stack();
    let [broken] = &stack.broken_environments[..] else {
        panic!("{:?}", stack.broken_environments);
    };
    assert_eq!(broken.prefix, "/app/.venv");
    assert_eq!(broken.interpreter, "/app/.venv/bin/python");
    assert_eq!(broken.target, target);
    assert_eq!(venv("/usr/bin/python3.11").stack().broken_environments, []);
    // A program that is called python, in a directory that is no environment.
    let other = Image::new().link("opt/tool/bin/python", "/nothing");
    assert_eq!(other.stack().broken_environments, []);
}
