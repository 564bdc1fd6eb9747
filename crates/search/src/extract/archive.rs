//! Archives: the names and sizes of their members, and the content of one of them.

use std::io::Read;

use model::{Code, Error, Result};

use super::content::{Content, Extract, MAX_MEMBER, Member, MemberContent, unreadable};
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

/// Returns a member of a ZIP archive: the one at this position of the list.
///
/// # Errors
/// `Invalid` with code `not_readable` if there is none, or it is encrypted or damaged; with code `too_large`.
pub fn zip_member(package: &mut Package<'_>, at: usize) -> Result<MemberContent> {
    let name = package.members().nth(at).ok_or_else(none)?.name;
    package.member(at, |member| read(name, member))?.ok_or_else(none)
}

/// Returns a member of a TAR archive, as [`zip_member`] does.
pub fn tar_member(bytes: &[u8], at: usize) -> Result<MemberContent> {
    member(tar::Archive::new(bytes), at)
}

/// Returns a member of a compressed TAR archive, as [`zip_member`] does.
pub fn tar_gz_member(bytes: &[u8], at: usize) -> Result<MemberContent> {
    member(tar::Archive::new(flate2::read::MultiGzDecoder::new(bytes).take(MAX_UNPACKED)), at)
}

fn member<R: Read>(mut archive: tar::Archive<R>, at: usize) -> Result<MemberContent> {
    let entry = archive.entries().map_err(unreadable)?.nth(at).ok_or_else(none)?.map_err(unreadable)?;
    let name = Member::new(&String::from_utf8_lossy(&entry.path_bytes()), 0).name;
    read(name, entry)
}

/// Reads the content of a member, whatever length its archive declares.
fn read(name: String, content: impl Read) -> Result<MemberContent> {
    let mut bytes = Vec::new();
    content.take(MAX_MEMBER + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_MEMBER {
        let text = "single files of up to 32 MiB can be taken out of an archive: download the archive";
        return Err(Error::invalid(text).with_code(Code::TooLarge));
    }
    Ok(MemberContent { name, bytes })
}

fn none() -> Error {
    unreadable("there is no such file in the archive")
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
        let second = tar_member(&plain, 1).unwrap();
        assert_eq!((second.name.as_str(), second.bytes.len()), ("folder/1.txt", 3));
        assert!(tar_member(&plain, 2).is_err());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&plain).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(members(tar_gz(&packed)).0.len(), 2);
        assert_eq!(tar_gz_member(&packed, 0).unwrap().name, "folder/0.txt");
        assert!(read("long".to_owned(), std::io::repeat(0)).is_err());
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
