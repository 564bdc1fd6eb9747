//! Makes trees of files for imports: `tree mixed|flat|one|MEAN DIRECTORY FILES`.
//!
//! `mixed`: half of the files of 1 to 16 KB, a third up to 100 KB, the rest up to 1 MB, 50 in a folder. `flat`: files
//! of 100 bytes, DIRECTORY/000/0.bin and so on, 1,000 in a folder. `one`: the same in one folder. A number MEAN: half
//! to one and a half of so many bytes (at most a million), 100 in a folder. No two files are alike and nothing
//! compresses. Built by `bench/lib.sh` with rustc alone.

use std::path::Path;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn between(&mut self, least: u64, most: u64) -> usize {
        (least + self.next() % (most - least)) as usize
    }
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, directory, files] = words.as_slice() else {
        eprintln!("tree mixed|flat|one|MEAN DIRECTORY FILES");
        std::process::exit(2);
    };
    let files: u64 = files.parse().map_err(std::io::Error::other)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let block: Vec<u8> = (0..(2 << 20) / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    for number in 0..files {
        let (path, size) = match kind.as_str() {
            "mixed" => {
                let size = match number % 6 {
                    0..3 => random.between(1_000, 16_000),
                    3..5 => random.between(16_000, 100_000),
                    _ => random.between(100_000, 1_000_000),
                };
                (format!("{:03}/{:02}/{}.bin", number / 5_000, number / 50 % 100, number % 50), size)
            }
            "flat" => (format!("{:03}/{}.bin", number / 1_000, number % 1_000), 100),
            "one" => (format!("{number}.bin"), 100),
            mean => {
                let mean: u64 = mean.parse().map_err(std::io::Error::other)?;
                (format!("{:04}/{}.bin", number / 100, number % 100), random.between(mean / 2, mean * 3 / 2))
            }
        };
        let path = Path::new(directory).join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let from = random.between(0, 1 << 20);
        let mut bytes = block[from..from + size].to_vec();
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        std::fs::write(path, bytes)?;
    }
    Ok(())
}
