//! The oldest glibc that an executable runs on: the newest version of its symbols that the executable asks for.

use crate::error::Error;
use object::Endianness;
use object::read::elf::ElfFile64;

/// The prefix of the names of glibc's versions begin with.
const PREFIX: &str = "GLIBC_";

/// The version; `None` for an executable that asks for none.
///
/// # Errors
/// It is not an ELF file of 64 bits.
pub(super) fn oldest(executable: &[u8]) -> Result<Option<String>, Error> {
    let file: ElfFile64<'_, Endianness> = ElfFile64::parse(executable)?;
    let (endian, data) = (file.endian(), file.data());
    let sections = file.elf_section_table();
    let Some((mut needed, link)) = sections.gnu_verneed(endian, data)? else {
        return Ok(None);
    };
    let strings = sections.strings(endian, data, link)?;
    let mut newest: Option<Vec<u32>> = None;
    while let Some((_, mut versions)) = needed.next()? {
        while let Some(version) = versions.next()? {
            let name = std::str::from_utf8(version.name(endian, strings)?)?;
            newest = newest.max(name.strip_prefix(PREFIX).and_then(numbers));
        }
    }
    Ok(newest.map(|numbers| {
        let parts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        parts.join(".")
    }))
}

/// `2.34` as numbers, which compare as versions do. `None` for `PRIVATE` and the like.
fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_their_numbers() {
        assert!(numbers("2.34") > numbers("2.4"));
        assert!(numbers("2.2.5") > numbers("2.2"));
        assert_eq!(numbers("PRIVATE"), None);
    }

    #[test]
    fn this_program_asks_for_a_glibc() {
        let program = std::env::current_exe().expect("it is there");
        let bytes = std::fs::read(program).expect("readable");
        let version = oldest(&bytes).expect("an executable");
        if cfg!(target_env = "gnu") {
            assert!(version.and_then(|version| numbers(&version)) >= numbers("2.14"));
        }
        assert!(oldest(b"no executable").is_err());
    }
}
