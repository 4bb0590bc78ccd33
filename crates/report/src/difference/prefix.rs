//! The directory that all paths of a table have in common.

/// A prefix that saves less than this many columns is not worth a line.
const WORTH: usize = 8;

/// Makes the paths of a table relative to the directory that all of them have in common, and returns it: `/usr/local/lib/`. `None` if
/// there are fewer than two paths, or they have next to nothing in common.
pub(super) fn strip<const N: usize>(rows: &mut [[String; N]]) -> Option<String> {
    let cells = rows.iter().flatten();
    let mut paths = cells.flat_map(|cell| cell.split(' ').filter(|word| word.starts_with('/')));
    let first = paths.next()?;
    let mut several = false;
    let common = paths.fold(directory(first), |common, path| {
        several = true;
        let same = common.bytes().zip(path.bytes());
        let same = same.take_while(|(a, b)| a == b).count();
        directory(common.get(..same).unwrap_or_default())
    });
    if !several || common.len() < WORTH {
        return None;
    }
    let common = common.to_owned();
    for cell in rows.iter_mut().flatten() {
        let words = cell.split(' ');
        let words = words.map(|word| word.strip_prefix(&common).unwrap_or(word));
        *cell = words.collect::<Vec<_>>().join(" ");
    }
    Some(common)
}

/// The path up to its last slash.
fn directory(path: &str) -> &str {
    &path[..path.rfind('/').map_or(0, |slash| slash + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(rows: &[[&str; 2]]) -> (Option<String>, Vec<[String; 2]>) {
        let mut rows: Vec<[String; 2]> = rows.iter().map(|row| row.map(str::to_owned)).collect();
        (strip(&mut rows), rows)
    }

    #[test]
    fn the_common_directory_is_stripped() {
        let (directory, rows) = stripped(&[
            ["libcudnn.so.9", "/usr/local/lib/a/libcudnn.so.9"],
            ["libnccl.so.2 (x)", "- /usr/local/lib/ab/libnccl.so.2"],
        ]);
        assert_eq!(directory.as_deref(), Some("/usr/local/lib/"));
        assert_eq!(rows[0][1], "a/libcudnn.so.9");
        assert_eq!(rows[1], ["libnccl.so.2 (x)", "- ab/libnccl.so.2"]);
    }

    #[test]
    fn nothing_is_stripped_from_one_path_or_from_different_ones() {
        assert_eq!(stripped(&[["a", "/usr/local/lib/a"]]).0, None);
        assert_eq!(stripped(&[["/usr/lib/a", "/opt/lib/a"]]).0, None);
        assert_eq!(stripped(&[["12.8", "-"]]).0, None);
        // Not in the middle of a character.
        assert_eq!(stripped(&[["/ä/ä", "/ã/ä"]]).0, None);
    }
}
