//! Who may pull, and how that is proved.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::run::{Run, check, image};
use testkit::registry::{Answer, Content, Seen, Server, broken, error, respond, with};

/// `user:secret` and `team:hush`, as Basic sends them.
const USER: &str = "dXNlcjpzZWNyZXQ=";
const TEAM: &str = "dGVhbTpodXNo";

fn unauthorized(challenge: &str) -> Answer {
    let answer = error(401, "UNAUTHORIZED", "authentication required");
    with(answer, "www-authenticate", challenge)
}

/// A registry that lets in whoever shows one of its tokens, each of which it gives out itself. `grant` answers the requests
/// for the token with a number.
fn with_tokens(
    holds: impl Fn(&Seen, &str) -> bool + Send + Sync + 'static,
    grant: impl Fn(&Seen, usize) -> Answer + Send + Sync + 'static,
    fault: impl Fn(&Seen, &Content) -> Option<Answer> + Send + Sync + 'static,
) -> Server {
    let content = Content::of("1", &[image()], false);
    let given = AtomicUsize::new(0);
    Server::new(move |seen| {
        if seen.path == "/token" {
            return grant(seen, given.fetch_add(1, Ordering::SeqCst));
        }
        if seen.path == "/v2/" {
            return respond(200, "{}");
        }
        let token = seen
            .authorization
            .as_deref()
            .and_then(|value| value.strip_prefix("Bearer "));
        if token.is_some_and(|token| holds(seen, token)) {
            return fault(seen, &content).unwrap_or_else(|| content.answer(seen));
        }
        unauthorized(&format!(
            r#"Bearer realm="http://{}/token",service="registry",scope="repository:team/image:pull""#,
            seen.host
        ))
    })
}

fn token(number: usize) -> Answer {
    respond(200, format!(r#"{{"token":"t{number}","expires_in":300}}"#))
}

fn any(_: &Seen, token: &str) -> bool {
    token.starts_with('t')
}

fn sound(_: &Seen, _: &Content) -> Option<Answer> {
    None
}

#[test]
fn an_anonymous_token_opens_a_public_repository() {
    let server = with_tokens(any, |_, number| token(number), sound);
    check(&server.reference("1")).report();
    let seen = server.seen();
    let asked: Vec<&Seen> = seen.iter().filter(|seen| seen.path == "/token").collect();
    // One token for the manifest, the config and both layers.
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].authorization, None);
    let query = "scope=repository%3Ateam%2Fimage%3Apull&service=registry";
    assert_eq!(asked[0].query, query);
}

#[test]
fn credentials_are_sent_to_the_token_server() {
    let grant = |seen: &Seen, number| match seen.authorization.as_deref() {
        Some(value) if value == format!("Basic {USER}") && seen.query.contains("account=user") => {
            token(number)
        }
        _ => respond(401, ""),
    };
    let server = with_tokens(any, grant, sound);
    let run = Run::new(&server.reference("1"));
    run.home_file(".docker/config.json", &auths(&server.address, USER))
        .go()
        .report();
    let outcome = Run::new(&server.reference("1"))
        .home_file(".docker/config.json", &auths(&server.address, TEAM))
        .go();
    outcome.fails_with(&[
        "rejected the user name or password from ~/.docker/config.json: ",
        "answered 401 Unauthorized",
        "docker login",
    ]);
    check(&server.reference("1")).fails_with(&[
        "requires a login, and no credentials were found in ",
        "answered 401 Unauthorized",
    ]);
}

#[test]
fn a_local_token_server_gets_no_password_and_only_pull_is_requested() {
    let content = Content::of("1", &[image()], false);
    let server = Server::new(move |seen| match seen.path.as_str() {
        "/token" => token(0),
        _ if seen.authorization.is_some() => content.answer(seen),
        _ => {
            let port = seen.host.rsplit_once(':').unwrap().1;
            unauthorized(&format!(
                r#"Bearer realm="http://0.0.0.0:{port}/token",scope="repository:team/image:pull,push""#
            ))
        }
    });
    let logged_in = || {
        let run = Run::new(&server.reference("1"));
        run.home_file(".docker/config.json", &auths(&server.address, USER))
    };
    logged_in().go().fails_with(&[
        "names a token server with the local address 0.0.0.0",
        "--local-token-server",
    ]);
    let tokens = || server.seen().into_iter().filter(|it| it.path == "/token");
    assert_eq!(tokens().count(), 0);
    // Without credentials there is nothing to protect.
    check(&server.reference("1")).report();
    logged_in().arg("--local-token-server").go().report();
    assert!(tokens().all(|it| {
        it.query
            .starts_with("scope=repository%3Ateam%2Fimage%3Apull&")
            || it.query == "scope=repository%3Ateam%2Fimage%3Apull"
    }));
}

#[test]
fn an_identity_token_is_exchanged() {
    let grant = |seen: &Seen, number| {
        let right = seen.method == "POST"
            && seen.query.is_empty()
            && seen
                .body
                .contains("grant_type=refresh_token&refresh_token=h%2Fsh&")
            && seen
                .body
                .contains("scope=repository%3Ateam%2Fimage%3Apull&service=registry");
        match right {
            true => respond(200, format!(r#"{{"access_token":"t{number}"}}"#)),
            false => respond(400, ""),
        }
    };
    let server = with_tokens(any, grant, sound);
    let config = format!(
        r#"{{"auths": {{"{}": {{"auth": "", "identitytoken": "h/sh"}}}}}}"#,
        server.address
    );
    let run = Run::new(&server.reference("1"));
    run.home_file(".docker/config.json", &config).go().report();
}

#[test]
fn an_identity_token_does_not_follow_redirects() {
    let elsewhere = Server::new(|_| respond(200, r#"{"access_token":"t"}"#));
    let target = format!("http://{}/token", elsewhere.address);
    let grant = move |_: &Seen, _| with(respond(307, ""), "location", &target);
    let server = with_tokens(any, grant, sound);
    let config = format!(
        r#"{{"auths": {{"{}": {{"auth": "", "identitytoken": "h/sh"}}}}}}"#,
        server.address
    );
    let run = Run::new(&server.reference("1"));
    let outcome = run.home_file(".docker/config.json", &config).go();
    outcome.fails_with(&["answered 307"]);
    assert_eq!(elsewhere.seen().len(), 0);
}

#[test]
fn a_token_that_expires_during_a_layer_is_renewed() {
    // The first token holds until the layer breaks, the second from then on.
    let holds = |seen: &Seen, token: &str| (token == "t0") == seen.range.is_none();
    let others = AtomicUsize::new(0);
    let server = with_tokens(
        holds,
        |_, number| token(number),
        move |seen, content| {
            let layer = content.layer();
            let blob = &content.blobs[&layer];
            if !seen.is_blob(&layer) {
                let is_blob = seen.part().starts_with("blobs/");
                others.fetch_add(usize::from(is_blob), Ordering::SeqCst);
                return None;
            }
            seen.range.is_none().then(|| {
                // The configuration and the other layer may not come after the renewal.
                for _ in 0..3000 {
                    if others.load(Ordering::SeqCst) >= 2 {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                broken(&blob[..100_000], blob.len())
            })
        },
    );
    check(&server.reference("1")).report();
    assert_eq!(server.count("token"), 2);
}

#[test]
fn a_busy_token_server_is_retried() {
    let server = with_tokens(
        any,
        |_, number| match number {
            0 => respond(503, ""),
            _ => token(number),
        },
        sound,
    );
    check(&server.reference("1")).report();
}

#[test]
fn invalid_tokens_are_rejected() {
    for body in ["", "{}", "[]", r#"{"token":"a\nb"}"#, r#"{"token":7}"#] {
        let server = with_tokens(any, move |_, _| respond(200, body), sound);
        check(&server.reference("1")).fails_with(&["sent no usable token"]);
    }
}

#[test]
fn an_unknown_challenge_is_an_error() {
    let server = Server::new(|seen| match seen.path.as_str() {
        "/v2/" => respond(200, "{}"),
        _ => unauthorized("Negotiate"),
    });
    check(&server.reference("1")).fails_with(&["neither Basic nor Bearer"]);
}

/// A registry that lets in only whom it knows.
fn private(known: &'static str) -> Server {
    let content = Content::of("1", &[image()], false);
    let known = format!("Basic {known}");
    Server::new(move |seen| match seen.authorization.as_deref() {
        _ if seen.path == "/v2/" => respond(200, "{}"),
        Some(shown) if shown == known => content.answer(seen),
        _ => unauthorized(r#"Basic realm="registry""#),
    })
}

fn auths(key: &str, auth: &str) -> String {
    format!(r#"{{"auths": {{"{key}": {{"auth": "{auth}"}}}}}}"#)
}

#[test]
fn credentials_of_docker_and_podman_are_found() {
    let server = private(USER);
    let config = auths(&server.address, USER);
    for (file, variable, value) in [
        (".docker/config.json", "NOTHING", ""),
        ("other/config.json", "DOCKER_CONFIG", "other"),
        ("any.json", "REGISTRY_AUTH_FILE", "any.json"),
        ("run/containers/auth.json", "XDG_RUNTIME_DIR", "run"),
        (".config/containers/auth.json", "NOTHING", ""),
        ("etc/containers/auth.json", "XDG_CONFIG_HOME", "etc"),
    ] {
        let run = Run::new(&server.reference("1")).home_file(file, &config);
        let value = run.home.path().join(value);
        let outcome = run.env(variable, value).go();
        assert_eq!(outcome.code, 0, "{file}: {}", outcome.stderr);
    }
    check(&server.reference("1")).fails_with(&[
        "requires a login, and no credentials were found in ~/.docker/config.json\n",
        "docker login",
    ]);
}

#[test]
fn the_longest_matching_key_wins() {
    let server = private(TEAM);
    let host = &server.address;
    let keys = |keys: &[(&str, &str)]| {
        let entries: Vec<String> = keys
            .iter()
            .map(|(key, auth)| format!(r#""{host}{key}": {{"auth": "{auth}"}}"#))
            .collect();
        format!(r#"{{"auths": {{{}}}}}"#, entries.join(","))
    };
    for config in [
        keys(&[("", USER), ("/team", TEAM)]),
        keys(&[("", USER), ("/team", USER), ("/team/image", TEAM)]),
        keys(&[("", TEAM), ("/tea", USER), ("/team/image2", USER)]),
        auths(&format!("https://{host}/v1/"), TEAM),
        auths(&format!("http://{host}"), TEAM),
        auths(host, TEAM).replace(
            r#""auth": "dGVhbTpodXNo""#,
            r#""username": "team", "password": "hush""#,
        ),
    ] {
        let run = Run::new(&server.reference("1")).home_file(".docker/config.json", &config);
        let outcome = run.go();
        assert_eq!(outcome.code, 0, "{config}: {}", outcome.stderr);
    }
}

/// A helper that says so, and its directory in front of the path.
fn with_helper(run: Run, script: &str) -> Run {
    use std::os::unix::fs::PermissionsExt;
    let run = run.home_file("bin/docker-credential-test", script);
    let program = run.home.path().join("bin/docker-credential-test");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = run.home.path().join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    run.env("PATH", path)
}

#[test]
fn credential_helpers_are_used() {
    let server = private(USER);
    let host = &server.address;
    let script = format!(
        r#"#!/bin/sh
read -r server
test "$1 $server" = "get {host}" && echo '{{"ServerURL": "x", "Username": "user", "Secret": "secret"}}'"#
    );
    for config in [
        format!(r#"{{"credHelpers": {{"{host}": "test"}}}}"#),
        format!(r#"{{"auths": {{"{host}": {{}}}}, "credsStore": "test"}}"#),
        r#"{"credsStore": "test"}"#.to_owned(),
    ] {
        let run = Run::new(&server.reference("1")).home_file(".docker/config.json", &config);
        let outcome = with_helper(run, &script).go();
        assert_eq!(outcome.code, 0, "{config}: {}", outcome.stderr);
    }
}

#[test]
fn a_failing_helper_matters_only_if_credentials_are_required() {
    let config = r#"{"credsStore": "test"}"#;
    let script = "#!/bin/sh\ncat >/dev/null\necho 'the keyring is locked' >&2\nexit 1";
    let public = with_tokens(any, |_, number| token(number), sound);
    let run = Run::new(&public.reference("1")).home_file(".docker/config.json", config);
    with_helper(run, script).go().report();

    let server = private(USER);
    let run = Run::new(&server.reference("1")).home_file(".docker/config.json", config);
    with_helper(run, script).go().fails_with(&[
        "requires a login, and no credentials were found in ~/.docker/config.json (",
        "docker-credential-test (",
        "failed: the keyring is locked",
    ]);
    let run = Run::new(&server.reference("1")).home_file(".docker/config.json", config);
    run.go()
        .fails_with(&["docker-credential-test (", "communicate"]);

    let none = "#!/bin/sh\ncat >/dev/null\necho 'credentials not found in native keychain'\nexit 1";
    let run = Run::new(&server.reference("1")).home_file(".docker/config.json", config);
    let outcome = with_helper(run, none).go();
    outcome.fails_with(&[
        "requires a login, and no credentials were found in ~/.docker/config.json\n",
    ]);
}

#[test]
fn an_invalid_configuration_file_is_named() {
    let server = private(USER);
    let run = Run::new(&server.reference("1"))
        .home_file(".docker/config.json", r#"{"auths": "dXNlcjpzZWNyZXQ="}"#);
    let outcome = run.go();
    outcome.fails_with(&[".docker/config.json: line 1: not a configuration"]);
    assert!(!outcome.stderr.contains(USER));
    // The next file may still be good.
    let run = Run::new(&server.reference("1")).home_file(".docker/config.json", "{");
    run.home_file(
        ".config/containers/auth.json",
        &auths(&server.address, USER),
    )
    .go()
    .report();
}
