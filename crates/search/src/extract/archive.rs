//! Archives: the names and sizes of their members. Nothing but compressed TAR archives is unpacked.

use std::io::Read;

use model::Result;

use super::content::{Content, Extract, Member, unreadable};
use super::package::Package;

/// Limit on the members that are listed.
const MAX_MEMBERS: usize = 1_000;
/// Limit on the bytes of their names together.
const MAX_NAMES: usize = 128 << 10;
/// Limit on the bytes of a compressed TAR archive that are unpacked.
const MAX_UNPACKED: u64 = 256 << 20;

/// Lists the members of a ZIP archive.
pub fn zip(package: &Package<'_>) -> Extract {
    let mut list = MemberList::default();
    let more = !package.members().all(|member| list.add(member));
    Extract { content: Content::Members(list.members), more }
}

/// Lists the members of a TAR archive.
pub fn tar(bytes: &[u8]) -> Result<Extract> {
    list(tar::Archive::new(bytes))
}

/// Lists the members of a compressed TAR archive.
pub fn tar_gz(bytes: &[u8]) -> Result<Extract> {
    list(tar::Archive::new(flate2::read::MultiGzDecoder::new(bytes).take(MAX_UNPACKED)))
}

fn list<R: Read>(mut archive: tar::Archive<R>) -> Result<Extract> {
    let (mut list, mut more) = (MemberList::default(), false);
    for (at, entry) in archive.entries().map_err(unreadable)?.enumerate() {
        match entry {
            Ok(entry) => more = !list.add(Member::new(&String::from_utf8_lossy(&entry.path_bytes()), entry.size())),
            Err(error) if at == 0 => return Err(unreadable(error)),
            // Cut or damaged from here on.
            Err(_) => more = true,
        }
        if more {
            break;
        }
    }
    if list.members.is_empty() {
        return Err(unreadable("it has no members"));
    }
    Ok(Extract { content: Content::Members(list.members), more })
}

/// Members up to the limits on their number and on their names.
#[derive(Default)]
struct MemberList {
    members: Vec<Member>,
    bytes: usize,
}

impl MemberList {
    /// Adds a member. Returns false if there is no room for it.
    fn add(&mut self, member: Member) -> bool {
        self.bytes += member.name.len();
        let fits = self.members.len() < MAX_MEMBERS && self.bytes <= MAX_NAMES;
        if fits {
            self.members.push(member);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn members(found: Result<Extract>) -> (Vec<(String, u64)>, bool) {
        let Extract { content: Content::Members(members), more } = found.unwrap() else { unreachable!() };
        (members.into_iter().map(|member| (member.name, member.size)).collect(), more)
    }

    fn tarred(count: usize) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for number in 0..count {
            let mut header = tar::Header::new_gnu();
            header.set_size(3);
            header.set_cksum();
            builder.append_data(&mut header, format!("folder/{number}.txt"), &b"abc"[..]).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn members_are_listed_by_name_and_size() {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in ["a/b.txt", "\u{e4} & <b>.txt"] {
            writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(b"12345").unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        let found = Package::open(&bytes).map(|package| super::zip(&package));
        assert_eq!(members(found), (vec![("a/b.txt".into(), 5), ("\u{e4} & <b>.txt".into(), 5)], false));
        let plain = tarred(2);
        assert_eq!(members(tar(&plain)).0, [("folder/0.txt".to_owned(), 3), ("folder/1.txt".to_owned(), 3)]);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&plain).unwrap();
        assert_eq!(members(tar_gz(&packed.finish().unwrap())).0.len(), 2);
    }

    #[test]
    fn long_and_damaged_archives_are_reported() {
        let long = tarred(MAX_MEMBERS + 2);
        let (found, more) = members(tar(&long));
        assert_eq!((found.len(), more), (MAX_MEMBERS, true));
        let mut named = tar::Builder::new(Vec::new());
        for number in 0..900 {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            named.append_data(&mut header, format!("{number}{}", "&".repeat(400)), &b""[..]).unwrap();
        }
        let (found, more) = members(tar(&named.into_inner().unwrap()));
        assert!(more && found.iter().map(|(name, _)| name.len()).sum::<usize>() <= MAX_NAMES);
        let (found, more) = members(tar(&long[..512 * 5]));
        assert!(more && !found.is_empty());
        for bad in [&b""[..], b"no archive at all", &[0; 4_096]] {
            assert!(tar(bad).is_err() && tar_gz(bad).is_err());
        }
    }
}
