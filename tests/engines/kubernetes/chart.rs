//! The Helm chart, installed into a real API server with Helm.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use testkit::kubernetes::Kubernetes;
use testkit::tools::tool;

use crate::program::{imgcheck, repository};

/// A cluster, and Helm's state and plugins in a directory of their own.
struct Helm {
    cluster: Kubernetes,
    place: tempfile::TempDir,
}

impl Helm {
    fn new() -> Option<Self> {
        if !tool("helm") {
            return None;
        }
        let helm = Helm {
            cluster: Kubernetes::start()?,
            place: tempfile::tempdir().unwrap(),
        };
        // Kubernetes 1.20 has budgets in `policy/v1beta1` only.
        let script =
            "#!/bin/sh\nexec sed 's,^apiVersion: policy/v1$,apiVersion: policy/v1beta1,'\n";
        fs::write(helm.post_renderer(), script).unwrap();
        fs::set_permissions(helm.post_renderer(), fs::Permissions::from_mode(0o755)).unwrap();
        Some(helm)
    }

    fn post_renderer(&self) -> PathBuf {
        self.place.path().join("old-server")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        helm(self.place.path())
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig("admin"))
            .args(["--namespace", "gpu-gate"])
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Installs or upgrades the release.
    fn apply(&self, command: &str, values: &str) -> String {
        let chart = chart().display().to_string();
        let renderer = self.post_renderer().display().to_string();
        let image = "image.repository=registry.example/imgcheck";
        // The server of the tests serves no OpenAPI.
        let options = [
            "--disable-openapi-validation",
            "--post-renderer",
            &renderer,
            "--set",
            image,
            "--set",
            values,
        ];
        let output = self.run(&[&[command, "gate", &chart][..], &options].concat());
        text(&output)
    }

    fn webhooks(&self) -> Value {
        self.cluster
            .json(&["get", "validatingwebhookconfiguration", "imgcheck"])["webhooks"]
            .clone()
    }
}

fn chart() -> PathBuf {
    repository("deploy/helm/imgcheck")
}

fn helm(state: &std::path::Path) -> Command {
    let mut command = Command::new("helm");
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(variable, state);
    }
    command
}

fn text(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_chart_is_well_formed_and_needs_an_image() {
    if !tool("helm") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        helm(place.path())
            .args(arguments)
            .arg(chart())
            .output()
            .unwrap()
    };
    let image = ["--set", "image.repository=registry.example/imgcheck"];
    text(&run(&[&["lint", "--strict"][..], &image].concat()));
    let output = run(&["template"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("pass --set image.repository=registry.example/"),
        "{error}"
    );
    // Helm reports what is missing to `lint` as information.
    let output = run(&["lint"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("pass --set image.repository=registry.example/"),
        "{told}"
    );
    let output = run(&[&["template"][..], &image, &["--set", "failurePolicy=Never"]].concat());
    assert!(!output.status.success());
    let open = ["--set", "networkPolicy.enabled=true"];
    let output = run(&[&["template"][..], &image, &open].concat());
    assert!(!output.status.success(), "a NetworkPolicy without peers");
    // Everything that can be switched on.
    let all = "certificate=cert-manager,readPullSecrets=true,tokensSecret=tokens,networkPolicy.enabled=true,\
               networkPolicy.from[0].ipBlock.cidr=192.0.2.0/24,serviceMonitor.enabled=true,serviceMonitor.token.name=token,alerts.enabled=true,dashboard.enabled=true";
    let objects = text(&run(&[&["template"][..], &image, &["--set", all]].concat()));
    for kind in [
        "Certificate",
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "PrometheusRule",
        "ResourceQuota",
        "ServiceMonitor",
        "ValidatingWebhookConfiguration",
    ] {
        assert!(objects.contains(&format!("\nkind: {kind}\n")), "{kind}");
    }
}

#[test]
fn the_chart_is_installed_upgraded_and_uninstalled() {
    let Some(helm) = Helm::new() else {
        return;
    };
    helm.cluster
        .apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu-gate}\n");
    let notes = helm.apply("install", "replicas=1");
    assert!(notes.contains("namespace gpu-gate"), "{notes}");
    // Nothing that a fresh gate does can keep a Pod from starting.
    let webhooks = helm.webhooks();
    for webhook in webhooks.as_array().unwrap() {
        assert_eq!(webhook["failurePolicy"], "Ignore");
        assert_eq!(webhook["clientConfig"]["service"]["namespace"], "gpu-gate");
        let excluded = &webhook["namespaceSelector"]["matchExpressions"][0]["values"];
        assert!(excluded.as_array().unwrap().contains(&json!("gpu-gate")));
    }
    let config = helm.cluster.json(&[
        "-n",
        "gpu-gate",
        "get",
        "configmap",
        "imgcheck-configuration",
    ]);
    let config = config["data"]["imgcheck.yaml"].as_str().unwrap().to_owned();
    assert_eq!(config, "gate:\n  mode: audit\n");
    // The gate writes the authority of its certificate there; an upgrade keeps it.
    let patch =
        json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "bWluZQ=="}]);
    helm.cluster.patch_webhooks("imgcheck", &patch);
    helm.apply("upgrade", "failurePolicy=Fail");
    let webhooks = helm.webhooks();
    assert_eq!(webhooks[0]["failurePolicy"], "Fail");
    assert_eq!(webhooks[1]["failurePolicy"], "Ignore");
    assert_eq!(webhooks[0]["clientConfig"]["caBundle"], "bWluZQ==");

    // A Job before all else removes the webhooks, which Helm deletes last. No kubelet runs it here: this is what it runs, with its rights.
    let hooks = text(&helm.run(&["get", "hooks", "gate"]));
    assert_eq!(
        hooks.matches("helm.sh/hook: pre-delete").count(),
        4,
        "{hooks}"
    );
    assert!(
        hooks.contains("args: [serve, --delete-webhooks]"),
        "{hooks}"
    );
    let apply = ["-n", "gpu-gate", "apply", "--validate=false", "-f", "-"];
    text(&helm.cluster.kubectl(&apply, &hooks));
    let account = "system:serviceaccount:gpu-gate:imgcheck-uninstall";
    let kubeconfig = helm.cluster.kubeconfig_as(account);
    let delete = || {
        let mut command = imgcheck();
        command.args(["serve", "--delete-webhooks", "--kubeconfig"]);
        text(&command.arg(&kubeconfig).output().unwrap())
    };
    assert_eq!(
        delete(),
        "deleted ValidatingWebhookConfiguration imgcheck\n"
    );
    let kind = "validatingwebhookconfigurations";
    assert_eq!(helm.cluster.json(&["get", kind])["items"], json!([]));
    // A Job may be started twice.
    assert_eq!(delete(), "no webhook configuration is named imgcheck\n");
    text(&helm.run(&["uninstall", "gate", "--no-hooks"]));
    let left = helm.run(&["list", "--all", "--short"]);
    assert_eq!(text(&left), "");
}

#[test]
fn prometheus_reads_the_alerts_and_the_queries_of_the_dashboard() {
    if !tool("promtool") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| fs::read_to_string(chart().join("files").join(name)).unwrap();
    let dashboard: Value = serde_json::from_str(&file("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|it| it["targets"].as_array().unwrap());
    let queries: Vec<Value> = targets
        .enumerate()
        .map(|(at, it)| json!({"record": format!("query:{at}"), "expr": it["expr"]}))
        .collect();
    assert!(queries.len() > 8, "{queries:?}");
    let queries = json!({"groups": [{"name": "dashboard", "rules": queries}]}).to_string();
    let broken = queries.replace("sum(", "sum((");
    for (name, rules, is_valid) in [
        ("alerts", file("alerts.yaml"), true),
        ("queries", queries, true),
        ("broken", broken, false),
    ] {
        let path = place.path().join(name);
        fs::write(&path, rules).unwrap();
        let mut promtool = Command::new("promtool");
        let output = promtool
            .args(["check", "rules"])
            .arg(path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_valid, "{name}: {said}");
    }
}

/// The values in the recipes for Argo CD and Flux are those of the chart.
#[test]
fn the_recipes_for_git_render_the_chart() {
    if !tool("helm") {
        return;
    }
    let guide = fs::read_to_string(repository("docs/src/gate.md")).unwrap();
    let blocks = guide.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|it| it.split("```").next());
    let recipes = blocks.filter(|it| it.starts_with("# Argo CD") || it.starts_with("# Flux"));
    let documents = recipes.flat_map(|it| it.split("---\n"));
    let objects: Vec<Value> = documents
        .map(|it| serde_saphyr::from_str(it).unwrap())
        .collect();
    let place = tempfile::tempdir().unwrap();
    let mut rendered = Vec::new();
    for object in &objects {
        let spec = &object["spec"];
        let (chart, values) = match object["kind"].as_str() {
            Some("Application") => (
                &spec["source"]["path"],
                &spec["source"]["helm"]["valuesObject"],
            ),
            Some("HelmRelease") => (&spec["chart"]["spec"]["chart"], &spec["values"]),
            _ => continue,
        };
        let file = place.path().join("values.json");
        fs::write(&file, values.to_string()).unwrap();
        let mut command = helm(place.path());
        command.args(["template", "imgcheck"]);
        command.arg(repository(chart.as_str().unwrap()));
        let output = text(&command.arg("--values").arg(file).output().unwrap());
        let image = "image: \"registry.example/tools/imgcheck:0.1.0\"";
        assert!(output.contains(image), "{output}");
        rendered.push(object["kind"].as_str().unwrap());
    }
    assert_eq!(rendered, ["Application", "HelmRelease"]);
}
