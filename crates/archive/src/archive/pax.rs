//! Pax extended headers (`x`): records `LENGTH KEY=VALUE\n`, see POSIX.1-2001, "pax Header Block".

use super::{capabilities, overlay};

/// The records of an extended header that affect how a member is read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pax {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    /// [`capabilities::FILE_CAPABILITIES`] if the file has capabilities, else 0.
    pub capabilities: u32,
    pub sparse: PaxSparse,
}

/// The `GNU.sparse.*` records of the formats 0.0, 0.1 and 1.0: see the GNU tar manual, "Storing Sparse Files".
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PaxSparse {
    /// The version as stored; empty if missing.
    pub major: Vec<u8>,
    pub minor: Vec<u8>,
    /// The real name; `path` is a generated one.
    pub name: Option<Vec<u8>>,
    /// The expanded size.
    pub real_size: Option<u64>,
    /// The map of the formats 0.0 and 0.1: alternating offsets and lengths.
    pub numbers: Option<Vec<u64>>,
}

/// Where the map of a sparse file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// In the extended header.
    Header,
    /// Before the content.
    Stored,
}

impl PaxSparse {
    /// Where the map is; `None` for a file that Go does not treat as sparse (`readGNUSparsePAXHeaders`): one of another version is read as
    /// it is stored, under its generated name.
    pub fn map(&self) -> Option<Map> {
        match (&*self.major, &*self.minor) {
            (b"0", b"0" | b"1") => Some(Map::Header),
            (b"1", b"0") => Some(Map::Stored),
            (b"", b"") => self.numbers.as_ref().map(|_| Map::Header),
            _ => None,
        }
    }
}

impl Pax {
    /// Parses the records. The error says what is wrong.
    pub fn parse(mut data: &[u8]) -> Result<Self, &'static str> {
        let mut pax = Pax::default();
        while !data.is_empty() {
            let (key, value, rest) = record(data).ok_or("a pax record has a wrong length")?;
            pax.set(key, value)?;
            data = rest;
        }
        Ok(pax)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let number = || decimal(value).ok_or("a number of a pax record is wrong");
        let text = || (!value.is_empty()).then(|| value.to_vec());
        // Programs disagree about names with a NUL.
        let path = || match memchr::memchr(0, value) {
            Some(_) => Err("a name has a NUL in it"),
            None => Ok(text()),
        };
        match key {
            b"path" => self.path = path()?,
            b"linkpath" => self.link = path()?,
            b"size" => self.size = Some(number()?),
            b"uid" => self.uid = decimal(value),
            b"gid" => self.gid = decimal(value),
            b"GNU.sparse.major" => self.sparse.major = value.to_vec(),
            b"GNU.sparse.minor" => self.sparse.minor = value.to_vec(),
            b"GNU.sparse.name" => self.sparse.name = path()?,
            b"GNU.sparse.size" | b"GNU.sparse.realsize" => self.sparse.real_size = Some(number()?),
            b"GNU.sparse.numblocks" => self.sparse.numbers = Some(Vec::new()),
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                self.sparse.numbers.get_or_insert_default().push(number()?);
            }
            b"GNU.sparse.map" => self.sparse.numbers = Some(map(value)?),
            _ => {
                let attribute = key.strip_prefix(b"SCHILY.xattr.").unwrap_or_default();
                if overlay::is_attribute(attribute) {
                    return Err(overlay::ATTRIBUTE);
                }
                if attribute == capabilities::ATTRIBUTE.as_bytes() {
                    self.capabilities = capabilities::mode_bit(value);
                }
            }
        }
        Ok(())
    }
}

/// Splits off the first record: key, value and remaining data.
fn record(data: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = memchr::memchr(b' ', data.get(..data.len().min(20))?)?;
    let length = usize::try_from(decimal(&data[..space])?).ok()?;
    let body = data.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = memchr::memchr(b'=', body)?;
    Some((&body[..equals], &body[equals + 1..], &data[length..]))
}

fn map(value: &[u8]) -> Result<Vec<u64>, &'static str> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    value
        .split(|byte| *byte == b',')
        .map(|part| decimal(part).ok_or("a number of a sparse map is wrong"))
        .collect()
}

/// Parses a decimal number.
pub fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_can_contain_newlines_and_equal_signs() {
        let pax = Pax::parse(b"14 path=a\nb=c\n12 comment=\n13 size=1234\n").unwrap();
        assert_eq!(pax.path.as_deref(), Some(&b"a\nb=c"[..]));
        assert_eq!(pax.size, Some(1234));
    }

    #[test]
    fn sparse_maps_of_both_0_formats() {
        let zero = Pax::parse(
            b"26 GNU.sparse.numblocks=1\n23 GNU.sparse.offset=5\n25 GNU.sparse.numbytes=7\n",
        )
        .unwrap();
        let one = Pax::parse(b"22 GNU.sparse.map=5,7\n").unwrap();
        assert_eq!(zero.sparse.numbers, Some(vec![5, 7]));
        assert_eq!(zero.sparse, one.sparse);
    }

    #[test]
    fn overlay_attributes_are_errors() {
        let parse = |name: &str| {
            let record = format!("SCHILY.xattr.{name}=y");
            // With two digits, a space and a newline.
            Pax::parse(format!("{} {record}\n", record.len() + 4).as_bytes())
        };
        for name in ["trusted.overlay.opaque", "user.overlay.redirect"] {
            assert_eq!(parse(name), Err(overlay::ATTRIBUTE), "{name}");
        }
        for name in ["user.overlays", "trusted.overlay.origin"] {
            assert_eq!(parse(name), Ok(Pax::default()), "{name}");
        }
    }

    #[test]
    fn the_version_determines_where_the_map_is() {
        let map = |records: &[u8]| Pax::parse(records).unwrap().sparse.map();
        let (major, minor) = (b"22 GNU.sparse.major=1\n", b"22 GNU.sparse.minor=0\n");
        assert_eq!(map(&[&major[..], minor].concat()), Some(Map::Stored));
        assert_eq!(map(major), None);
        assert_eq!(
            map(&[&major[..], b"22 GNU.sparse.minor=1\n"].concat()),
            None
        );
        assert_eq!(map(b"22 GNU.sparse.map=5,7\n"), Some(Map::Header));
        assert_eq!(map(b"13 size=1234\n"), None);
    }

    #[test]
    fn invalid_records_are_errors() {
        for data in [
            &b"x"[..],
            b"99 path=a\n",
            b"11 size=1x2\n",
            b"3 \n",
            b"0 a=b\n",
            b"8 path=a\n",
            b"11 path=a\0\n",
        ] {
            assert!(
                Pax::parse(data).is_err(),
                "{}",
                String::from_utf8_lossy(data)
            );
        }
    }
}
