//! Paths of an image resolve as the kernel resolves them: the tree is created in a temporary directory, and each path is opened
//! there with `openat2` as in a chroot (RESOLVE_IN_ROOT).
//!
//! The input describes an image; lines `path PATH` are resolved, and so are all links of the image.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use imgcheck_fuzz::described::Described;
use imgcheck_image::{Node, ResolveError, RootFilesystem};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

pub fn fuzz(text: &str) {
    let image = Described::new(text);
    let root = RootFilesystem::merge(&image.layers);
    let links = root
        .walk_tree()
        .filter(|node| node.symlink_target().is_some());
    let mut paths: Vec<String> = links.map(Node::path).collect();
    paths.extend(
        text.lines()
            .filter_map(|line| line.strip_prefix("path "))
            .map(str::to_owned),
    );
    paths.retain(|path| !path.is_empty() && !path.contains('\0'));
    if !paths.is_empty()
        && let Some(real) = Tree::new(&root)
    {
        for path in &paths {
            real.compare(&root, path);
        }
    }
}

/// The image's tree on disk.
struct Tree {
    directory: PathBuf,
    root: File,
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Tree {
    /// `None` if the file system refuses a name or a target.
    fn new(root: &RootFilesystem) -> Option<Self> {
        let directory = std::env::temp_dir().join(format!("imgcheck-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).ok()?;
        let tree = Tree {
            root: File::open(&directory).ok()?,
            directory,
        };
        root.walk_tree().try_for_each(|node| tree.make(node)).ok()?;
        Some(tree)
    }

    /// Makes one thing of the tree. Its parents are there already, and none is a link.
    fn make(&self, node: Node) -> io::Result<()> {
        let place = self.directory.join(&node.path()[1..]);
        match node.symlink_target() {
            Some(target) => symlink(target, place),
            None if node.is_directory() => fs::create_dir(place),
            None => File::create(place).map(drop),
        }
    }

    fn compare(&self, root: &RootFilesystem, path: &str) {
        let followed = root.resolve(path).map(Node::path);
        assert_eq!(followed, self.kernel(path, OFlags::empty()), "{path}");
        let itself = root.entry(path).map(Node::path);
        assert_eq!(
            itself,
            self.kernel(path, OFlags::NOFOLLOW).ok(),
            "{path} itself"
        );
    }

    fn kernel(&self, path: &str, flags: OFlags) -> Result<String, ResolveError> {
        let opened = loop {
            let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
            match openat2(
                &self.root,
                path,
                flags,
                Mode::empty(),
                ResolveFlags::IN_ROOT,
            ) {
                // Something was moved somewhere on the machine.
                Err(Errno::AGAIN) => {}
                other => break other,
            }
        };
        match opened {
            Ok(descriptor) => Ok(self.path_of(&descriptor)),
            Err(Errno::NOENT) => Err(ResolveError::NotFound),
            Err(Errno::NOTDIR) => Err(ResolveError::NotADirectory),
            Err(Errno::LOOP) => Err(ResolveError::Loop),
            Err(Errno::NAMETOOLONG) => Err(ResolveError::NameTooLong),
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Where an open file is, from the root of the tree.
    fn path_of(&self, descriptor: &impl std::os::fd::AsRawFd) -> String {
        let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let place = fs::read_link(link).expect("procfs");
        let inside = place
            .strip_prefix(&self.directory)
            .expect("a path in the tree");
        Path::new("/")
            .join(inside)
            .to_str()
            .expect("UTF-8")
            .to_owned()
    }
}
