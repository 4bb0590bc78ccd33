//! A cluster that is watched: what changes is seen, what was known stays while the API server is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use imgcheck::Connection;
use imgcheck_cluster::{View, Watch};
use imgcheck_model::knowledge;
use testkit::kubernetes::Kubernetes;
use tokio::runtime::Runtime;

use super::{node, server};

/// A change that is not seen by then is not seen.
const SOON: Duration = Duration::from_secs(60);

fn connection(server: &Kubernetes) -> Connection {
    Connection::Kubeconfig {
        file: Some(server.kubeconfig("imgcheck")),
        context: None,
    }
}

fn watch(runtime: &Runtime, connection: &Connection) -> Watch {
    let labels = knowledge::table("node-labels").unwrap();
    let gpus = Arc::new(knowledge::targets().unwrap().gpus);
    runtime
        .block_on(Watch::start(connection, labels, gpus))
        .unwrap()
}

fn wait_until(watch: &Watch, holds: impl Fn(&View) -> bool) -> Arc<View> {
    let started = Instant::now();
    loop {
        let view = watch.view();
        if holds(&view) {
            return view;
        }
        assert!(started.elapsed() < SOON, "{view:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn names(view: &View) -> Vec<&str> {
    let classes = view.state.classes.iter().flat_map(|it| it.iter());
    classes.map(|it| it.target.name.as_str()).collect()
}

#[test]
fn changes_are_seen_and_knowledge_outlives_the_server() {
    let Some(mut server) = server() else { return };
    let runtime = Runtime::new().unwrap();
    let watch = watch(&runtime, &connection(&server));
    runtime.block_on(watch.listed());
    let first = watch.view();
    assert_eq!(first.problems, []);
    assert_eq!(names(&first), Vec::<&str>::new());
    assert!(first.state.namespaces.contains_key("kube-system"));

    server.apply(&node("old", "NVIDIA-A100-SXM4-80GB", "470.82.01"));
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: ml, labels: {team: x}}\n");
    wait_until(&watch, |it| {
        names(it) == ["NVIDIA-A100-SXM4-80GB (driver 470.82.01)"]
    });
    let view = wait_until(&watch, |it| it.state.namespaces.contains_key("ml"));
    assert_eq!(view.state.namespaces["ml"]["team"], "x");

    server.stop();
    let lost = wait_until(&watch, |it| it.problems.len() == 3);
    assert_eq!(names(&lost), ["NVIDIA-A100-SXM4-80GB (driver 470.82.01)"]);
    assert!(lost.problems[0].since.elapsed() < SOON);

    server.restart();
    server.apply(&node("old", "NVIDIA-A100-SXM4-80GB", "535.104.05"));
    let view = wait_until(&watch, |it| {
        names(it) == ["NVIDIA-A100-SXM4-80GB (driver 535.104.05)"]
    });
    assert!(view.problems.iter().all(|it| it.kind != "Node"), "{view:?}");
    wait_until(&watch, |it| it.problems.is_empty());
}

#[test]
fn missing_rights_are_a_problem_and_end_when_they_are_given() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    let runtime = Runtime::new().unwrap();
    let watch = watch(&runtime, &connection(&server));
    runtime.block_on(watch.listed());
    let view = watch.view();
    assert!(view.state.classes.is_none());
    assert!(
        view.problems[0]
            .message
            .contains("cannot list resource \"nodes\""),
        "{view:?}"
    );
    server.apply(&super::for_old_server(&super::kustomized("self-signed")));
    wait_until(&watch, |it| {
        it.problems.is_empty() && it.state.classes.is_some()
    });
}

#[test]
fn pull_secrets_are_those_of_the_pod_or_of_its_account() {
    let Some(server) = server() else { return };
    let runtime = Runtime::new().unwrap();
    let watch = watch(&runtime, &connection(&server));
    let secret = |name: &str, user: &str| {
        server.apply(&format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: default}}\ntype: kubernetes.io/dockerconfigjson\n\
             stringData: {{.dockerconfigjson: '{{\"auths\": {{\"r.example\": {{\"username\": \"{user}\", \"password\": \"x\"}}}}}}'}}\n"
        ));
    };
    secret("own", "pod");
    secret("accounts", "account");
    server.apply(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: old, namespace: default}\ntype: kubernetes.io/dockercfg\n\
         stringData: {.dockercfg: '{\"r.example\": {\"username\": \"older\", \"password\": \"x\"}}'}\n",
    );
    server.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: trainer, namespace: default}\nimagePullSecrets: [{name: accounts}, {name: gone}]\n");
    let found = |account: &str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        runtime.block_on(watch.pull_secrets("default", account, &names))
    };
    let refused = found("trainer", &["own"]).unwrap_err();
    assert!(
        refused
            .message()
            .contains("cannot get resource \"secrets\""),
        "{refused:?}"
    );

    server.apply(include_str!(
        "../../../deploy/kustomize/components/pull-secrets/rbac.yaml"
    ));
    let users = |account: &str, names: &[&str]| -> Vec<String> {
        let secrets = found(account, names).unwrap().into_iter();
        let user = |secret: String| {
            let config: serde_json::Value = serde_json::from_str(&secret).unwrap();
            config["auths"]["r.example"]["username"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        secrets.map(user).collect()
    };
    assert_eq!(users("trainer", &["own"]), ["pod"]);
    assert_eq!(users("trainer", &[]), ["account"]);
    assert_eq!(users("trainer", &["old"]), ["older"]);
    assert_eq!(users("trainer", &["gone"]), Vec::<String>::new());
    assert_eq!(users("nobody", &[]), Vec::<String>::new());
    let list = server.kubeconfig("imgcheck");
    let list = testkit::kubernetes::kubectl()
        .arg("--kubeconfig")
        .arg(list)
        .args(["get", "secrets", "-A"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&list.stderr).contains("cannot list resource \"secrets\""));
}
