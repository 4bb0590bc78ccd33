//! Users and groups that an image names and does not have: container engines refuse to start it (`GetExecUser` of
//! github.com/moby/sys/user).

use imgcheck::Overlay;
use imgcheck_image::{Content, EntryKind};
use imgcheck_launch::StartFailure;
use serde_json::json;

use crate::sample::Image;

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n";
const GROUP: &str = "root:x:0:\nvideo:x:44:app\n";

fn image(user: &str) -> Image {
    Image::python().config(json!({"Cmd": ["python3", "a.py"], "User": user}))
}

fn failures(image: &Image, overlay: &Overlay) -> Vec<StartFailure> {
    image.derive(overlay).unwrap().launch.failures
}

#[test]
fn a_user_or_group_must_be_in_the_image_or_a_number() {
    let files = |user| {
        image(user)
            .text("etc/passwd", PASSWD)
            .text("etc/group", GROUP)
    };
    for (user, said) in [
        ("", None),
        ("root", None),
        ("app", None),
        ("app:video", None),
        (":video", None),
        ("app:", None),
        ("1000", None),
        ("4711:4711", None),
        ("2147483647", None),
        (
            "ghost",
            Some("unable to find user ghost: no matching entries in passwd file"),
        ),
        (
            "App",
            Some("unable to find user App: no matching entries in passwd file"),
        ),
        (
            "app:ghosts",
            Some("unable to find group ghosts: no matching entries in group file"),
        ),
        (
            "1000:ghosts",
            Some("unable to find group ghosts: no matching entries in group file"),
        ),
        (
            "2147483648",
            Some("uids and gids must be in range 0-2147483647"),
        ),
        ("0:-1", Some("uids and gids must be in range 0-2147483647")),
    ] {
        let found = failures(&files(user), &Overlay::default());
        let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages, Vec::from_iter(said), "{user}");
    }
}

/// An image `FROM scratch` has neither file: a number starts, a name does not.
#[test]
fn without_the_files_only_numbers_start() {
    let of = |user| failures(&image(user), &Overlay::default()).len();
    assert_eq!(
        (of("1000:1000"), of(""), of("root"), of("app")),
        (0, 0, 1, 1)
    );
}

/// What is not known is no error: a file that was not read, a volume over it, a user that the caller replaces.
#[test]
fn what_is_unknown_is_no_error() {
    let unread = image("ghost").entry("etc/passwd", EntryKind::File(Content::Unread));
    assert_eq!(failures(&unread, &Overlay::default()), []);
    let mut overlay = Overlay::default();
    overlay.volumes.insert("/etc/passwd".to_owned());
    assert_eq!(failures(&image("ghost"), &overlay), []);
    let mut overlay = Overlay {
        user: Some("1000".to_owned()),
        ..Overlay::default()
    };
    assert_eq!(failures(&image("ghost"), &overlay), []);
    overlay.user = Some("ghost".to_owned());
    assert_eq!(failures(&image("1000"), &overlay).len(), 1);
}

/// `$PLATFORM` names a directory by the processor of the host.
#[test]
fn the_platform_token_is_a_gap_where_it_matters() {
    let gaps = |value: &str, file: &str| {
        let variable = format!("LD_LIBRARY_PATH={value}");
        let image = Image::python()
            .torch()
            .package("torch", "2.8.0+cu128")
            .text(file, "");
        let image = image.process(&[&variable], &["python3"]);
        let gaps = image.derive(&Overlay::default()).unwrap().gaps;
        gaps.iter()
            .filter(|it| it.message.contains("$PLATFORM"))
            .count()
    };
    assert_eq!(gaps("/opt/$PLATFORM", "opt/haswell/x"), 1);
    assert_eq!(gaps("/opt/$PLATFORM", "opt/x86_64/x"), 1);
    assert_eq!(gaps("/a:/opt/${PLATFORM}/lib", "opt/x86_64/lib/x"), 1);
    assert_eq!(gaps("/opt/$PLATFORM", "opt/other/x"), 0);
    assert_eq!(gaps("/opt/$LIB:$ORIGIN/x", "opt/x86_64/x"), 0);
}
